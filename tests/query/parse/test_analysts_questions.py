"""Questions as analysts and their tools write them: answered, or refused with what to write instead."""

from __future__ import annotations

import pytest

from discreet.errors import QuestionRefused
from discreet.query.parse.select import parse
from tests.query.parse.test_select import PEOPLE

ANSWERED = """
SELECT COUNT(1) FROM people
SELECT COUNT(*) AS "Total Rows" FROM "public"."people" WHERE "public"."people"."city" = 'Oslo'
select case when age < 18 then 'child' when age < 65 then 'adult' else 'senior' end as band, count(*)
    from people group by 1 order by 1
select coalesce(city, 'unknown') as city, count(*) from people group by coalesce(city, 'unknown')
select date_trunc('month', at)::date as month, count(*) from people group by 1 order by 1
select extract(year from day) as yr, extract(month from day) as mo, count(*) from people group by 1,2
select avg(age), stddev_samp(age), min(age), max(age), percentile_cont(0.5) within group (order by age)
    from people
select count(*) from people where note like '%cancer%' and lower(city) = 'oslo'
select avg(age * age), sum(income * age) from people
select ifnull(city, 'none') c, count(*) from people group by c
select count(*) from people where age isnull
select count(*) from people where age notnull
select floor(age/10)*10 as bucket, count(*) from people group by bucket order by bucket
select width_bucket(age, 0, 100, 10), count(*) from people group by 1
select count(*) from people where mod(age, 2) = 0
select var_samp(age), var_pop(age), stddev_pop(age) from people
select count(*) from people where city == 'Oslo' and not insured
select count(*) from people where age != 3
select median(income) from people where insured is true group by city
select greatest(age, 18) g, count(*) from people group by 1
select sum(income) from people where date_part('year', day) = 2024
with t as (select * from people where age > 3) select city, count(*) from t group by city
with people as (select * from people where age > 3) select city, count(*) from people group by city order
    by 2 desc
select avg(m) from (select income/12 as m, city from people) s where s.city = 'Oslo'
select m, avg(m) from (select floor(income/100000) as m, city from people) s group by m having avg(m) > 3
    order by m
select age*2 as city, count(*) from (select age from people) group by city
with a(x, y) as (select age, income from people) select sum(x+y) from a
with a as (select age as x from people), b as (select x+x as x from a), c as (select x+x as x from b)
    select sum(x) from c where x > 2
select count(distinct uid) from (select user_id as uid from people) t
select count(*) from "public"."people" where "public"."people"."age" > 3
select p.city, count(*) from main.people p group by p.city
select count(*) from (people) p where p.age > 3
select insured, count(*) from (select not insured as insured from people) group by insured
select count(*) from (select case when age > 5 then null else age end as a from people) where a is null
select cast(f as int) k, count(*) from (select insured as f from people) group by k
select sum(x) from (select cast(insured as int) as x from people) where x between 0 and 1
"""


REFUSED = """
select p.city as c, avg(p.income) as avg_income from people as p where p.age between 18 and 65 group by
    p.city having count(*) > 100 order by avg_income desc limit 10 -> Add it to the select list.
select count(*) filter (where age >= 65) * 1.0 / count(*) from people -> Select the parts and compute
    with the answers; having may compare them.
select round(avg(income), 2) from people -> Select the parts and compute with the answers; having may
    compare them.
select avg(income)::int from people -> Select the parts and compute with the answers; having may compare them.
select sum(case when insured then 1 else 0 end) / count(*) as rate from people -> Select the parts and
    compute with the answers; having may compare them.
select city, count(*) * 100.0 / sum(count(*)) over () as pct from people group by city -> Select the
    parts and compute with the answers; having may compare them.
select city, rank() over (order by count(*) desc) from people group by city -> Use group by;
    count(distinct user_id) counts each person once, with the name of the person column.
select count(distinct city) from people -> Write count(distinct user_id), or group by the column and
    count the groups that have rows.
select distinct city from people -> Use group by: select city, count(*) from people group by city.
select * from people limit 5 -> Ask for counts, sums or means: select count(*), avg(age) from people.
select top 10 * from people -> Write limit 10 at the end, instead of top 10.
select city, count(*) from people where city is not null and city <> '' group by city -> The list is
    'Bergen', 'Oslo', 'Tromsø'.
select max(age) - min(age) from people -> Select the parts and compute with the answers; having may compare them.
select count(*) from people where day >= current_date - interval '30 days' -> Write the date out: date
    '2024-01-31'.
select count(*) from people where day >= dateadd(day, -30, getdate()) -> Add days: day + 30, or write the
    date out.
select count(*) from people where day > '2024-01-01'::date - interval 7 day -> Add days: day + 30, or
    write the date out.
select strftime(day, '%Y-%m') as ym, count(*) from people group by 1 -> Group by date_trunc('month',
    day), or by year(day), month(day).
select to_char(day, 'YYYY-MM'), count(*) from people group by 1 -> Group by date_trunc('month', day), or
    by year(day), month(day).
select year(day) || '-' || month(day) as ym, count(*) from people group by 1 -> Group by both columns:
    select city, insured, count(*) from people group by 1, 2.
select dayname(day), count(*) from people group by 1 -> Use date_trunc('week', day), month(day),
    dayofweek(day) or isodow(day).
select week(day), count(*) from people group by 1 -> Use date_trunc('week', day), month(day),
    dayofweek(day) or isodow(day).
select mode(city) from people -> Group by the column: order by count(*) desc limit 1, with count(*) selected.
select approx_count_distinct(user_id) from people -> Write count(distinct user_id), with the name of the
    person column.
select count(distinct user_id, city) from people -> Write count(distinct user_id), or group by the column
    and count the groups that have rows.
select user_id, sum(income) from people group by user_id order by 2 desc limit 10 -> Write count(distinct
    user_id).
select count(*) from people where user_id in (1, 2, 3) -> Write count(distinct user_id).
select city, string_agg(note, ', ') from people group by city -> Count by group: select city, count(*)
    from people group by city.
select a.city, count(*) from people a join people b on a.user_id = b.user_id group by 1 -> Join the
    tables before sealing.
select city, count(*) from people group by rollup(city) -> Ask each on its own.
select count(*) from people where note ~* 'cancer' -> Use like or ilike: note ilike '%tea%'.
select count(*) from people where regexp_matches(note, 'a.*') -> Use like or ilike: note ilike '%tea%'.
select count(*) from people where contains(note, 'a') -> Write note like '%tea%'.
select count(*) from people where starts_with(city, 'O') -> Write city like 'O%'.
select count(*) from people where city not in (select city from people group by city having count(*) <
    10) -> Ask the inner select on its own, and write its answer here: age > 42, or city in ('Oslo',
    'Bergen').
select count(*) from people where age > (select avg(age) from people) -> Ask the inner select on its own,
    and write its answer here: age > 42, or city in ('Oslo', 'Bergen').
select city, avg(income) from people group by city having avg(income) > (select avg(income) from people)
    -> Ask the inner select on its own, and write its answer here: age > 42, or city in ('Oslo', 'Bergen').
select log(income) as l, count(*) from people group by 1 -> Seal a column with the transformed value, or
    count by bins: histogram(income, 20).
select avg(log(income + 1)) from people -> Seal a column with the transformed value, or count by bins:
    histogram(income, 20).
select avg(income / nullif(age, 0)) from people -> Divide by a number, or ask for two sums and divide the
    answers: select sum(a), sum(b).
select power(age, 2) from people -> Multiply: age * age.
select sum(income) / nullif(count(*), 0) from people -> Select the parts and compute with the answers;
    having may compare them.
select iff(age > 65, 1, 0) old, count(*) from people group by old -> Write if(age >= 65, 1, 0), or case
    when age >= 65 then 1 else 0 end.
select count(*) from people where isnull(age) -> Write age is null, or age is not null.
select city, count(*) n from people group by city order by n desc nulls last fetch first 5 rows only ->
    Write limit 10 instead of fetch first 10 rows only.
select histogram(age) from people -> Write histogram(age, 10).
select try_cast(age as int) from people -> Name the column alone.
select cast(age as varchar), count(*) from people group by 1 -> Name the column alone, as numbers and
    dates are keys too; use floor(…) or round(…) to cut digits.
select age::text, count(*) from people group by 1 -> Name the column alone, as numbers and dates are keys
    too; use floor(…) or round(…) to cut digits.
select concat(city, '-', insured) k, count(*) from people group by k -> Group by both columns: select
    city, insured, count(*) from people group by 1, 2.
select any_value(city) from people -> Use min, max, median or a count by group.
select first(age) from people -> Use min, max, median or a count by group.
select array_agg(age) from people -> Count by group: select city, count(*) from people group by city.
select lag(income) over (partition by user_id order by day) from people -> Use group by; count(distinct
    user_id) counts each person once, with the name of the person column.
select regr_slope(income, age), regr_r2(income, age) from people -> Ask for covar_pop(income, age) and
    variance(age), and divide the answers.
select skewness(age), kurtosis(age) from people -> Ask for quantiles: quantile(age, [0.05, 0.25, 0.5,
    0.75, 0.95]).
select entropy(city) from people -> Count by group, and compute it from the answer.
select bool_or(insured), bool_and(insured) from people -> Ask for the share: avg(insured).
select count(*), 'x' as label from people -> Count or average it, or group by it: select 'x', count(*)
    from people group by 'x'.
select 1 as one, count(*) from people -> Count or average it, or group by it: select 1, count(*) from
    people group by 1.
select now(), count(*) from people -> Write the date out: date '2024-01-31'.
select city as City, COUNT(*) as `n` from people group by 1 -> Write names in double quotes, not in
    backquotes: "n".
select city, count(*) from people group by city order by random() -> Leave random() out.
select count(*) from people p where exists (select 1 from people q where q.user_id = p.user_id) -> Ask
    the inner select on its own, and write its answer here: age > 42, or city in ('Oslo', 'Bergen').
select avg(x) from (select user_id, avg(income) as x from people group by 1) t -> Ask the inner select
    first, and compute with its answers.
insert into people values (1) -> Write select count(*) from people; a preview shows its cost, and the
    vault itself its columns.
explain select count(*) from people -> Write select count(*) from people; a preview shows its cost, and
    the vault itself its columns.
describe people -> Write select count(*) from people; a preview shows its cost, and the vault itself its columns.
show tables -> Write select count(*) from people; a preview shows its cost, and the vault itself its columns.
select city, avg(income) over (partition by city) from people -> Use group by; for shares of a total, ask
    for select count(*) as well and divide the answers.
select sum(income) as total, total / 12 from people -> There are age, city, income, insured, day, at,
    note, select, Größe.
select count(*) from people where city = "Oslo" -> Text stands in single quotes: 'Oslo'.
select count(age) - count(*) from people -> Select the parts and compute with the answers; having may
    compare them.
select pivot(city) from people -> Write conditions of columns and constants with = <> < <= > >= between,
    in, like, is null, and, or, not.
select count(*) from people where day = date '2024-02-30' -> Write '2024-01-31', or '2024-01-31 18:00:00'
    for a time.
select count(*) from people where age > '30' -> Write it without quotes: 30.
select avg(city) from people -> Count rows, or take the median of a date.
select city, count(*) from people group by city having city like 'O%' -> Write like in where, before group by.
select count(*) from people where age between 65 and null -> Write is null, or is not null.
select timestampdiff(year, day, at) from people -> Write date_diff('day', started, ended), with the unit
    that you want.
select avg(at - day) from people -> Write day + 7, or date_diff('hour', started, ended) for the time
    between two columns.
select age(day), count(*) from people group by 1 -> Write date_diff('day', started, ended), with the unit
    that you want.
select sum(distinct income) from people -> Leave distinct out.
select count(*) over () from people -> Use group by; for shares of a total, ask for select count(*) as
    well and divide the answers.
select count(*) from (select age from people) where city = 'Oslo' -> There are age.
select uid, count(*) from (select user_id as uid from people) t group by 1 -> Write count(distinct user_id).
select avg(n) from (select user_id, count(*) n from people group by user_id) t -> Ask the inner select
    first, and compute with its answers.
select * from (select city, count(*) as n from people group by city) t order by n desc limit 10 -> Ask it
    without the select around it: write its where as having; order by and limit follow.
select city, n from (select city, count(*) as n from people group by city) t where n > 5 -> Ask it
    without the select around it: write its where as having; order by and limit follow.
select count(*) from (select distinct city from people) t -> Leave distinct out; count(distinct user_id)
    counts persons, with the name of the person column.
select count(*) from (select * from people limit 10) t -> Write limit after the outer select, where it
    limits groups.
select count(*) from (select * from people union all select * from people) t -> Join the conditions in
    one where: city = 'Oslo' or city = 'Bergen'.
select count(*) from (select *, row_number() over (partition by user_id) as rn from people) t where rn =
    1 -> Use group by; count(distinct user_id) counts each person once, with the name of the person column.
with recursive r as (select 1) select count(*) from people -> Leave recursive out.
select count(*) from other.people -> Write from people.
select count(*) from (select age, age+1 as age from people) t where age > 3 -> Give one an alias: age as other.
select count(*) from (select age x, foo y from people) -> There are age, city, income, insured, day, at,
    note, select, Größe, user_id.
with a as (select age from people), a as (select age from people) select count(*) from a -> Give one
    another name.
select s.age, count(*) from (select age from people) t group by 1 -> Write t.age.
select sum(x) from (select age + user_id as x from people) -> Write count(distinct user_id).
select count(*) from (select * from people where age > (select avg(age) from people)) -> Ask the inner
    select on its own, and write its answer here: age > 42, or city in ('Oslo', 'Bergen').
select count(*) from (values (1)) t(a) -> Join the tables before sealing.
"""


def listed(text: str) -> list[str]:
    """Return the questions of a list: one in a line, or in several of which all but the first are indented."""
    return text.strip().replace("\n    ", " ").split("\n")


def test_there_are_many_of_them() -> None:
    assert len(listed(ANSWERED)) >= 30
    assert len(listed(REFUSED)) >= 60


@pytest.mark.parametrize("text", listed(ANSWERED))
def test_it_is_answered(text: str) -> None:
    question = parse(text, PEOPLE)
    assert parse(question.text, PEOPLE).text == question.text


@pytest.mark.parametrize("text", listed(REFUSED))
def test_it_is_refused_with_what_to_write_instead(text: str) -> None:
    asked, fix = text.rsplit(" -> ", 1)
    with pytest.raises(QuestionRefused) as refused:
        parse(asked, PEOPLE)
    assert str(refused.value.fixes[0]) == fix
    assert len(refused.value.problem.split()) <= 25 or "not valid SQL" in refused.value.problem
