//! Budgets of calls, tokens and money, exact under concurrency.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use rust_decimal::Decimal;

use crate::{ErrorKind, ModelError, Usage, clock::lock};

/// Price of a model per million tokens. Prices come from the user: there are none built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Tokens of requests.
    pub input: Decimal,
    /// Tokens of replies.
    pub output: Decimal,
    /// Tokens of requests that were cached, if they have a price of their own.
    pub cached_input: Option<Decimal>,
}

impl Price {
    /// Returns the cost of a call, or `None` if the number has too many digits.
    pub fn cost(&self, usage: &Usage) -> Option<Decimal> {
        let cached = usage.cached.min(usage.input);
        let parts = [
            (usage.input.saturating_sub(cached), self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (usage.output, self.output),
        ];
        let sum = parts.into_iter().try_fold(Decimal::ZERO, |sum, (tokens, price)| {
            sum.checked_add(price.checked_mul(Decimal::from(tokens))?)
        })?;
        sum.checked_div(Decimal::from(1_000_000)).map(|cost| cost.normalize())
    }
}

/// Prices by model, as `PROVIDER/MODEL` or `MODEL`.
#[derive(Clone, Debug, Default)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Collects prices.
    pub fn new(prices: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self(prices.into_iter().collect())
    }

    /// Returns the price of a model.
    pub fn get(&self, provider: &str, model: &str) -> Option<&Price> {
        self.0.get(&format!("{provider}/{model}")).or_else(|| self.0.get(model))
    }
}

/// Limits of a [`Budget`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Requests that may be sent, repetitions included.
    pub calls: Option<u64>,
    /// Tokens of both directions.
    pub tokens: Option<u64>,
    /// Money in the currency of the prices.
    pub money: Option<Decimal>,
    /// Tokens of an answer without usage. If absent, such an answer is an error under a limit of tokens or money.
    pub assume_tokens: Option<u64>,
}

/// Spent part of a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Requests that were sent.
    pub calls: u64,
    /// Tokens of both directions.
    pub tokens: u64,
    /// Money.
    pub money: Decimal,
}

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    /// Calls in flight and the dearest finished call, by model.
    models: BTreeMap<String, ModelState>,
    /// Set by the first refusal, after which everything is refused.
    refused: Option<String>,
}

#[derive(Debug, Default)]
struct ModelState {
    in_flight: u64,
    most_tokens: u64,
    most_money: Decimal,
}

/// Limit of what a run, an evaluator or a program may spend.
///
/// A request is refused if what is spent and reserved reaches a limit. Each call in flight reserves as much as the dearest
/// finished call of its model, so only the first calls, of which none is finished, can exceed a limit of tokens or money. A limit
/// of calls is never exceeded. A budget that refused once refuses always.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    owner: String,
    limits: BudgetLimits,
    prices: Prices,
    state: Mutex<State>,
}

impl Budget {
    /// Creates a budget. `owner` is named in errors: `the run`, `evaluator quality`.
    pub fn new(owner: impl Into<String>, limits: BudgetLimits, prices: Prices) -> Self {
        Self(Arc::new(Shared { owner: owner.into(), limits, prices, state: Mutex::default() }))
    }

    /// Returns what was spent so far.
    pub fn spent(&self) -> Spent {
        lock(&self.0.state).spent.clone()
    }

    /// Checks that every model has a price, if money is limited.
    ///
    /// # Errors
    ///
    /// Models without a price.
    pub fn check<'a>(
        &self,
        models: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ModelError> {
        if self.0.limits.money.is_none() {
            return Ok(());
        }
        let missing = models.into_iter().filter(|(a, b)| self.0.prices.get(a, b).is_none());
        let missing: Vec<String> =
            missing.map(|(provider, model)| format!("{provider}/{model}")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the budget of {} limits money, but these models have no price: {}; add them to `prices`",
            self.0.owner,
            missing.join(", ")
        );
        Err(ModelError::new(ErrorKind::Config, message))
    }

    /// Reserves one call.
    fn reserve(&self, provider: &str, model: &str) -> Result<(), ModelError> {
        self.check([(provider, model)])?;
        let limits = &self.0.limits;
        let mut state = lock(&self.0.state);
        let (mut tokens, mut money) = (state.spent.tokens, state.spent.money);
        for model in state.models.values() {
            tokens = tokens.saturating_add(model.in_flight.saturating_mul(model.most_tokens));
            let reserved = model.most_money.saturating_mul(Decimal::from(model.in_flight));
            money = money.saturating_add(reserved);
        }
        let spent = if limits.calls.is_some_and(|limit| state.spent.calls >= limit) {
            Some(format!("{} calls", limits.calls.unwrap_or_default()))
        } else if limits.tokens.is_some_and(|limit| tokens >= limit) {
            Some(format!("{} tokens", limits.tokens.unwrap_or_default()))
        } else {
            limits.money.filter(|limit| money >= *limit).map(|limit| format!("{limit} of money"))
        };
        if let Some(limit) = state.refused.clone().or(spent) {
            let message =
                format!("the budget of {} is spent ({limit}); raise `budget`", self.0.owner);
            state.refused = Some(limit);
            return Err(ModelError::new(ErrorKind::BudgetExceeded, message));
        }
        state.spent.calls = state.spent.calls.saturating_add(1);
        state.models.entry(format!("{provider}/{model}")).or_default().in_flight += 1;
        Ok(())
    }

    /// Ends a reserved call. `answer` is `None` if no answer came.
    fn settle(&self, provider: &str, model: &str, answer: Option<Option<&Usage>>) -> bool {
        let limits = &self.0.limits;
        let mut state = lock(&self.0.state);
        let assumed = limits.assume_tokens.map(|input| Usage { input, ..Usage::default() });
        let usage = answer.and_then(|usage| usage.copied().or(assumed));
        let cost = usage
            .and_then(|usage| self.0.prices.get(provider, model)?.cost(&usage))
            .unwrap_or_default();
        let tokens = usage.map(|usage| usage.total()).unwrap_or_default();
        state.spent.tokens = state.spent.tokens.saturating_add(tokens);
        state.spent.money = state.spent.money.saturating_add(cost);
        let of_model = state.models.entry(format!("{provider}/{model}")).or_default();
        of_model.in_flight = of_model.in_flight.saturating_sub(1);
        of_model.most_tokens = of_model.most_tokens.max(tokens);
        of_model.most_money = of_model.most_money.max(cost);
        let is_counted = limits.tokens.is_some() || limits.money.is_some();
        answer.is_none() || usage.is_some() || !is_counted
    }

    /// Gives a reservation back that was not used.
    fn undo(&self, provider: &str, model: &str) {
        self.settle(provider, model, None);
        let mut state = lock(&self.0.state);
        state.spent.calls = state.spent.calls.saturating_sub(1);
    }
}

/// Reservation of one call in several budgets. Dropping it counts a call without an answer.
#[derive(Debug)]
pub(crate) struct Reservation<'a> {
    budgets: &'a [Budget],
    provider: &'a str,
    model: &'a str,
    is_settled: bool,
}

impl<'a> Reservation<'a> {
    /// Reserves a call in all of the budgets, or in none.
    pub(crate) fn new(
        budgets: &'a [Budget],
        provider: &'a str,
        model: &'a str,
    ) -> Result<Self, ModelError> {
        for (position, budget) in budgets.iter().enumerate() {
            if let Err(error) = budget.reserve(provider, model) {
                for budget in &budgets[..position] {
                    budget.undo(provider, model);
                }
                return Err(error);
            }
        }
        Ok(Self { budgets, provider, model, is_settled: false })
    }

    /// Counts the usage of an answer.
    ///
    /// # Errors
    ///
    /// A budget limits tokens or money, and the answer has no usage.
    pub(crate) fn settle(mut self, usage: Option<&Usage>) -> Result<(), ModelError> {
        self.is_settled = true;
        let mut result = Ok(());
        for budget in self.budgets {
            if !budget.settle(self.provider, self.model, Some(usage)) {
                let message = format!(
                    "the answer does not say how many tokens it used, which the budget of {} counts; set `assume_tokens`",
                    budget.0.owner
                );
                result = Err(ModelError::new(ErrorKind::UsageMissing, message));
            }
        }
        result
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            for budget in self.budgets {
                budget.settle(self.provider, self.model, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Prices {
        let price = Price {
            input: "0.15".parse().unwrap(),
            output: "0.60".parse().unwrap(),
            cached_input: Some("0.075".parse().unwrap()),
        };
        Prices::new([("m".to_owned(), price)])
    }

    #[test]
    fn costs_are_decimal() {
        let usage = Usage { input: 1_000_000, output: 100_000, cached: 400_000, reasoning: 0 };
        let cost = price().get("openai", "m").unwrap().cost(&usage).unwrap();
        assert_eq!(cost.to_string(), "0.18");
    }

    #[test]
    fn a_limit_of_calls_is_exact_under_concurrency() {
        let limits = BudgetLimits { calls: Some(7), ..BudgetLimits::default() };
        let budgets = [Budget::new("the run", limits, Prices::default())];
        let sent = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|| {
                    if let Ok(reservation) = Reservation::new(&budgets, "p", "m") {
                        sent.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        std::thread::yield_now();
                        reservation.settle(None).unwrap();
                    }
                });
            }
        });
        assert_eq!(sent.into_inner(), 7);
        assert_eq!(budgets[0].spent().calls, 7);
    }

    #[test]
    fn calls_in_flight_reserve_the_dearest_call() {
        let limits = BudgetLimits { tokens: Some(100), ..BudgetLimits::default() };
        let budgets = [Budget::new("the run", limits, Prices::default())];
        let reserve = || Reservation::new(&budgets, "p", "m");
        let used = Usage { input: 30, output: 10, ..Usage::default() };
        reserve().unwrap().settle(Some(&used)).unwrap();
        let (first, _second) = (reserve().unwrap(), reserve().unwrap());
        // 40 spent and 80 reserved.
        assert_eq!(reserve().unwrap_err().kind, ErrorKind::BudgetExceeded);
        first.settle(Some(&Usage::default())).unwrap();
        assert_eq!(reserve().unwrap_err().kind, ErrorKind::BudgetExceeded, "refuses always");
    }

    #[test]
    fn a_refusal_gives_back_what_the_other_budgets_reserved() {
        let limits = |calls| BudgetLimits { calls: Some(calls), ..BudgetLimits::default() };
        let budgets = [("run", 5), ("evaluator", 0)]
            .map(|(owner, calls)| Budget::new(owner, limits(calls), Prices::default()));
        let error = Reservation::new(&budgets, "p", "m").unwrap_err();
        assert!(error.message.contains("budget of evaluator is spent (0 calls)"), "{error}");
        assert_eq!(budgets[0].spent(), Spent::default());
    }

    #[test]
    fn money_needs_a_price_of_every_model() {
        let limits = BudgetLimits { money: Some(Decimal::ONE), ..BudgetLimits::default() };
        let budget = Budget::new("the run", limits, price());
        budget.check([("openai", "m")]).unwrap();
        let error = budget.check([("a", "m"), ("b", "x"), ("c", "y")]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Config);
        assert!(error.message.contains("b/x, c/y"), "{error}");
    }

    #[test]
    fn an_answer_without_usage_is_an_error_where_tokens_count() {
        let limits = BudgetLimits { tokens: Some(100), ..BudgetLimits::default() };
        let budgets = [Budget::new("the run", limits.clone(), Prices::default())];
        let error = Reservation::new(&budgets, "p", "m").unwrap().settle(None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UsageMissing);
        let limits = BudgetLimits { assume_tokens: Some(60), ..limits };
        let budgets = [Budget::new("the run", limits, Prices::default())];
        Reservation::new(&budgets, "p", "m").unwrap().settle(None).unwrap();
        assert_eq!(budgets[0].spent().tokens, 60);
    }
}
