"""Choose a model by a holdout that stays honest: a grid search on data of scikit-learn.

Run it with: python examples/holdout.py
"""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.tree import DecisionTreeClassifier

from discreet.validity import ReusableHoldout, plan


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X_train, X_hold, y_train, y_hold = train_test_split(X, y, test_size=0.7, random_state=0)
    print(plan(n=len(y_hold), queries=30), "\n")
    guard = ReusableHoldout(X_hold, y_hold, purpose="selecting", queries=30)
    grid = {"max_depth": [2, 4, 6, 8, 12], "min_samples_leaf": [1, 3, 10]}
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(tree, grid, cv=guard.cv(X_train), scoring=guard.scorer())
    search.fit(X_train, y_train)
    print(guard.report(), "\n")
    print(f"The best: {search.best_params_}. {guard.answers[-1]}")


if __name__ == "__main__":
    main()
