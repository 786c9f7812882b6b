"""Answer statistical queries, privately or not, and learn from the answers alone.

    sample           Sample: arrays with a declared schema
    query            StatisticalQuery: predicate, moment; the literals of a schema
    oracle           StatisticalOracle: the face; SampleOracle, exact; SQOracle, private
    exact_sums       exact sums over a sample, or in the engine of a vault
    cells            many expressions in few statements
    pricing, state   what answers cost, and what is spent
    label            the label of a vault's oracle

    conjunctions, decision_lists, stumps, naive_bayes, perceptron     learners that only ask
    rules            the conditions that they ask about, and what they predict

Any statistical-query learner becomes private when its oracle does: give `learn_conjunction` an `SQOracle` where it
had a `SampleOracle`.
"""

from discreet.learn.statistical_queries.conjunctions import Conjunction, conjunction_needs, learn_conjunction
from discreet.learn.statistical_queries.decision_lists import (
    DecisionList,
    decision_list_needs,
    learn_decision_list,
)
from discreet.learn.statistical_queries.naive_bayes import NaiveBayes, learn_naive_bayes, naive_bayes_needs
from discreet.learn.statistical_queries.oracle import SampleOracle, SQOracle, StatisticalOracle
from discreet.learn.statistical_queries.perceptron import Halfspace, learn_halfspace, perceptron_needs
from discreet.learn.statistical_queries.query import StatisticalQuery, literals, moment, predicate, schema
from discreet.learn.statistical_queries.rules import Needs, Rule, error_rate
from discreet.learn.statistical_queries.sample import Sample
from discreet.learn.statistical_queries.stumps import learn_stump, stump_needs

__all__ = [
    "Conjunction",
    "DecisionList",
    "Halfspace",
    "NaiveBayes",
    "Needs",
    "Rule",
    "SQOracle",
    "Sample",
    "SampleOracle",
    "StatisticalOracle",
    "StatisticalQuery",
    "conjunction_needs",
    "decision_list_needs",
    "error_rate",
    "learn_conjunction",
    "learn_decision_list",
    "learn_halfspace",
    "learn_naive_bayes",
    "learn_stump",
    "literals",
    "moment",
    "naive_bayes_needs",
    "perceptron_needs",
    "predicate",
    "schema",
    "stump_needs",
]
