"""Parse SQL into a Question, through an allow-list.

statement           parse the text into one select of bounded size
derived_tables      inline inner selects and with
inner_selects       refuse inner selects that cannot be inlined
scope               resolve the names of columns and of the table
select              read the select into a Question
expressions         read values and conditions, node by node
functions           the allow-list of operators and functions
aggregates          read count, sum, avg, quantiles and their filters
group_by            list the declared groups
shorthands          write out histogram(x, bins) and lists of quantiles
having_order_limit  read what happens to the answer
canonical           write the canonical text of a question
unsupported         explain what is not answered, and what to write instead
tool_statements     read what database tools send: commands, catalogue queries, questions
tool_questions      write the questions of BI tools as an analyst would
tool_catalogue      translate catalogue queries of PostgreSQL to DuckDB
tool_growth         bound the texts that a catalogue query puts together
"""
