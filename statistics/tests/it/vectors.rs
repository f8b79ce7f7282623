//! Golden vectors: formulas against other libraries and against a reference in Python.

use std::{env, fs, path::PathBuf};

use evaluator_statistics::{
    Betting, ClusteredMean, Confusion, Decision, Estimate, GateKind, Interval, LabelCounts, Level,
    Mean, PowerOfMean, Random, Refusal, SignFlips, Weights, anova, auroc, best_threshold,
    beta_quantile, binomial_cdf, bounded_mean, clopper_pearson, confusion, correlation,
    disagreement, gate_mean, gate_rate, holm, kappa, kripp, mcnemar, mean_clustered, mean_t,
    min_cases, noninferiority, normal_quantile, pass_at_k, signflip_exact, signflip_mc,
    student_quantile,
};
use serde_json::{Map, Value, json};

/// Arguments of a vector.
struct Arguments(Value);

/// Computes the result of a vector. `None` if it is about a function that no command uses.
type Compute = fn(&Arguments) -> Option<Result<Value, Refusal>>;

impl Arguments {
    fn value(&self, key: &str) -> &Value {
        &self.0[key]
    }

    fn number(&self, key: &str) -> f64 {
        number(self.value(key))
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        numbers(self.value(key))
    }

    /// A number that is never negative.
    fn size(&self, key: &str) -> Result<usize, Refusal> {
        let value = self.value(key);
        value.as_u64().map(|it| it as usize).ok_or(Refusal::Range)
    }

    fn confidence(&self) -> f64 {
        self.number("confidence")
    }

    fn seed(&self) -> u64 {
        self.value("seed").as_str().unwrap().parse().unwrap()
    }

    /// Clusters of values, if there are any.
    fn clusters(&self) -> Option<Vec<Option<&str>>> {
        let clusters = self.value("clusters").as_array()?;
        Some(clusters.iter().map(Value::as_str).collect())
    }
}

fn number(value: &Value) -> f64 {
    match value["$"].as_str() {
        Some("NaN") => f64::NAN,
        Some("Infinity") => f64::INFINITY,
        _ => value.as_f64().unwrap_or_else(|| panic!("not a number: {value}")),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// Compares the results of a file.
fn compare(file: &str, compute: Compute) {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let directory = env::var_os("EVALUATOR_VECTORS_DIR").map_or(own, PathBuf::from);
    let path = directory.join("statistics").join(format!("{file}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut compared = 0;
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let id = &vector["id"];
        let mut arguments = vector["in"].clone();
        arguments["f"] = vector["f"].clone();
        let Some(result) = compute(&Arguments(arguments)) else { continue };
        compared += 1;
        match (result, vector["error"].as_str()) {
            (Err(refusal), Some(kind)) => assert_eq!(json!(refusal), kind, "{id}"),
            (Ok(result), None) => agree(&result, &vector["out"], &format!("{id}")),
            (result, kind) => panic!("{id}: {result:?} instead of {kind:?}"),
        }
    }
    assert!(compared > 0, "{file} has no vectors");
}

/// Compares numbers up to 1e-9, and everything else exactly.
fn agree(got: &Value, want: &Value, place: &str) {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            let keys = |object: &Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
            let mut both = [keys(got), keys(want)];
            both.iter_mut().for_each(|keys| keys.sort());
            assert_eq!(both[0], both[1], "{place}");
            got.iter().for_each(|(key, got)| agree(got, &want[key], &format!("{place}.{key}")));
        }
        (Value::Array(got), Value::Array(want)) => {
            assert_eq!(got.len(), want.len(), "{place}");
            got.iter().zip(want).for_each(|(got, want)| agree(got, want, place));
        }
        (Value::Number(got), Value::Number(want)) if got.is_f64() || want.is_f64() => {
            let (got, want) = (got.as_f64().unwrap(), want.as_f64().unwrap());
            let error = (got - want).abs() / want.abs().max(1.0);
            assert!(error <= 1e-9, "{place}: {got} instead of {want}");
        }
        _ => assert_eq!(got, want, "{place}"),
    }
}

fn object(parts: &[Value]) -> Value {
    Value::Object(parts.iter().flat_map(|part| part.as_object().unwrap().clone()).collect())
}

fn ends(Interval { lower, upper }: Interval) -> Value {
    json!({"lower": lower, "upper": upper})
}

fn optional_ends(interval: Option<Interval>) -> Value {
    interval.map_or(json!({"lower": null, "upper": null}), ends)
}

fn mean_of(Estimate { n, units, mean, interval }: Estimate) -> Value {
    object(&[json!({"n": n, "units": units, "mean": mean}), ends(interval)])
}

fn rate_of(estimate: Estimate) -> Value {
    object(&[json!({"p": estimate.mean}), ends(estimate.interval)])
}

fn decision(decision: Decision, estimate: fn(Estimate) -> Value) -> Value {
    let own = json!({"verdict": decision.verdict.label(), "needed": decision.needed});
    object(&[estimate(decision.estimate), own])
}

#[test]
fn vectors_of_distributions() {
    compare("special", |it| {
        let arguments = it.numbers("args");
        let value = match (it.value("f").as_str().unwrap(), &arguments[..]) {
            ("norm_ppf", [p]) => normal_quantile(*p),
            ("t_ppf", [p, df]) => student_quantile(*p, *df),
            ("beta_ppf", [p, a, b]) => beta_quantile(*p, *a, *b),
            ("binom_cdf", [k, n, p]) => binomial_cdf(*k as u64, *n as u64, *p),
            ("norm_cdf" | "t_cdf" | "beta_cdf" | "ln_gamma", _) => return None,
            other => panic!("unknown function: {other:?}"),
        };
        Some(Ok(json!({"value": value})))
    });
}

#[test]
fn vectors_of_bounded_means() {
    compare("bounded_mean", |it| {
        let range = it.number("low")..=it.number("high");
        let clusters = it.clusters();
        let result =
            bounded_mean(&it.numbers("values"), clusters.as_deref(), range, it.confidence());
        Some(result.map(mean_of))
    });
}

#[test]
fn vectors_of_proportions() {
    compare("clopper_pearson", |it| {
        let sizes = it.size("k").and_then(|k| Ok((k, it.size("n")?)));
        Some(sizes.and_then(|(k, n)| clopper_pearson(k, n, it.confidence())).map(rate_of))
    });
}

#[test]
fn vectors_of_corrected_rates() {
    compare("corrected", |it| {
        let corrected = || {
            let labels = LabelCounts {
                good: it.size("good")?,
                good_passed: it.size("good_passed")?,
                bad: it.size("bad")?,
                bad_failed: it.size("bad_failed")?,
            };
            let rates = labels.rates(it.confidence())?;
            let raw = clopper_pearson(it.size("passed")?, it.size("n")?, it.confidence())?;
            let of = |name: &str, Estimate { mean, interval, .. }: Estimate| {
                let Interval { lower, upper } = interval;
                json!({name: mean, format!("{name}_lower"): lower, format!("{name}_upper"): upper})
            };
            let own = [of("tpr", rates.tpr), of("tnr", rates.tnr)];
            Ok(object(&[object(&own), rate_of(rates.correct(raw)?)]))
        };
        Some(corrected())
    });
}

#[test]
fn vectors_of_means() {
    compare("mean_t", |it| {
        let result = mean_t(&it.numbers("values"), it.confidence());
        Some(result.map(|Mean { n, mean, sd, se, interval }| {
            object(&[json!({"n": n, "mean": mean, "sd": sd, "se": se}), optional_ends(interval)])
        }))
    });
}

#[test]
fn vectors_of_clustered_means() {
    compare("mean_clustered", |it| {
        let clusters = it.clusters().unwrap();
        let result = mean_clustered(&it.numbers("values"), &clusters, it.confidence());
        Some(result.map(|it| {
            let ClusteredMean { n, clusters, mean, se, interval, design_effect, effective_n } = it;
            let own = json!({
                "n": n, "clusters": clusters, "mean": mean, "se": se, "df": clusters - 1,
                "deff": design_effect, "n_eff": effective_n,
            });
            object(&[own, optional_ends(interval)])
        }))
    });
}

#[test]
fn vectors_of_gates_of_means() {
    compare("gate_mean", |it| {
        let (values, clusters) = (it.numbers("values"), it.clusters());
        let result =
            gate_mean(&values, clusters.as_deref(), it.number("threshold"), it.confidence());
        Some(result.map(|it| decision(it, mean_of)))
    });
}

#[test]
fn vectors_of_gates_of_rates() {
    compare("gate_rate", |it| {
        let sizes = it.size("passed").and_then(|passed| Ok((passed, it.size("n")?)));
        let result =
            sizes.and_then(|(passed, n)| gate_rate(passed, n, it.number("rate"), it.confidence()));
        Some(result.map(|it| decision(it, rate_of)))
    });
}

#[test]
fn vectors_of_least_numbers_of_cases() {
    compare("min_cases", |it| {
        let kind = match it.value("kind").as_str().unwrap() {
            "mean" => GateKind::Mean,
            _ => GateKind::Rate,
        };
        let result = min_cases(kind, it.number("threshold"), it.confidence());
        Some(result.map(|n| json!({"n": n})))
    });
}

#[test]
fn vectors_of_betting() {
    compare("betting", |it| {
        Some((|| {
            let mut betting = Betting::new(it.number("threshold"), it.confidence())?;
            let mut path = Vec::new();
            for value in it.numbers("values") {
                betting.observe(value)?;
                path.push(betting.log_capital());
            }
            let (verdict, at) = (betting.verdict().label(), betting.decided_at());
            Ok(json!({"verdict": verdict, "decided_at": at, "log_capital": path}))
        })())
    });
}

#[test]
fn vectors_of_noninferiority() {
    compare("noninferiority", |it| {
        let (base, new, clusters) = (it.numbers("a"), it.numbers("b"), it.clusters());
        let (margin, confidence) = (it.number("margin"), it.confidence());
        let result = noninferiority(&base, &new, clusters.as_deref(), margin, confidence);
        Some(result.map(|it| decision(it, mean_of)))
    });
}

#[test]
fn vectors_of_sign_flips() {
    compare("signflip_exact", |it| {
        let result = signflip_exact(&it.numbers("d"));
        Some(result.map(|SignFlips { p, nonzero, .. }| json!({"p": p, "nonzero": nonzero})))
    });
}

#[test]
fn vectors_of_random_sign_flips() {
    compare("signflip_mc", |it| {
        let resamples = it.size("resamples").unwrap() as u64;
        let result = signflip_mc(&it.numbers("d"), it.seed(), resamples);
        Some(result.map(
            |SignFlips { p, nonzero, hits }| json!({"p": p, "nonzero": nonzero, "hits": hits}),
        ))
    });
}

#[test]
fn vectors_of_changed_cases() {
    compare("mcnemar", |it| {
        let sizes = it.size("fixed").and_then(|fixed| Ok((fixed, it.size("regressed")?)));
        Some(sizes.map(|(fixed, regressed)| json!({"p": mcnemar(fixed as u64, regressed as u64)})))
    });
}

#[test]
fn vectors_of_adjusted_p_values() {
    compare("adjust", |it| {
        let is_holm = it.value("method") == "holm";
        is_holm.then(|| holm(&it.numbers("p")).map(|adjusted| json!({"adjusted": adjusted})))
    });
}

#[test]
fn vectors_of_power() {
    compare("power_mean", |it| {
        Some((|| {
            let (sd, effect) = (it.number("sd"), it.number("deff"));
            let power = PowerOfMean::new(sd, effect, it.confidence(), it.number("power"))?;
            let mut result = json!({});
            if let Some(n) = it.value("n").as_u64() {
                result["mde"] = power.detectable(n as usize)?.into();
            }
            if let Some(delta) = it.value("delta").as_f64() {
                result["needed"] = power.needed(delta)?.into();
            }
            Ok(result)
        })())
    });
}

#[test]
fn vectors_of_several_conversations() {
    compare("pass_at_k", |it| {
        Some((|| {
            let [c, n, k] = ["c", "n", "k"].map(|key| it.size(key).unwrap() as u64);
            let chances = pass_at_k(c, n, k)?;
            let disagreement = disagreement(c, n)?;
            Ok(json!({
                "pass_at_k": chances.at_least_one, "pass_hat_k": chances.all,
                "disagreement": disagreement, "flaky": disagreement.is_some_and(|it| it > 0.0),
            }))
        })())
    });
}

#[test]
fn vectors_of_variance() {
    compare("anova", |it| {
        let cases: Vec<Vec<f64>> =
            it.value("cases").as_array().unwrap().iter().map(numbers).collect();
        Some(anova(&cases).map(|it| {
            json!({
                "ms_between": it.mean_square_between, "ms_within": it.mean_square_within,
                "n0": it.repeats, "var_between": it.between, "var_within": it.within,
                "icc1": it.correlation, "icc1_k": it.correlation_of_means, "se_mean": it.se,
            })
        }))
    });
}

#[test]
fn vectors_of_confusion_tables() {
    compare("confusion", |it| {
        let [tp, fp, fn_, tn] = ["tp", "fp", "fn", "tn"].map(|key| it.value(key).as_u64().unwrap());
        let counts = Confusion {
            true_positives: tp,
            false_positives: fp,
            false_negatives: fn_,
            true_negatives: tn,
        };
        Some(confusion(&counts).map(|it| {
            json!({
                "accuracy": it.accuracy, "precision": it.precision, "recall": it.recall,
                "specificity": it.specificity, "f1": it.f1,
                "balanced_accuracy": it.balanced_accuracy, "mcc": it.mcc,
            })
        }))
    });
}

#[test]
fn vectors_of_kappa() {
    compare("kappa", |it| {
        let weights = match it.value("weights").as_str().unwrap() {
            "none" => Weights::Equal,
            "quadratic" => Weights::Quadratic,
            _ => return None,
        };
        let [a, b, categories] = ["a", "b", "categories"].map(|key| it.numbers(key));
        let result = kappa(&a, &b, &categories, weights);
        Some(result.map(|it| json!({"kappa": it.kappa, "se": it.se})))
    });
}

#[test]
fn vectors_of_agreement_of_several_raters() {
    compare("kripp", |it| {
        let level = match it.value("level").as_str().unwrap() {
            "nominal" => Level::Nominal,
            "interval" => Level::Interval,
            _ => return None,
        };
        let units: Vec<Vec<f64>> = it
            .value("units")
            .as_array()
            .unwrap()
            .iter()
            .map(|unit| unit.as_array().unwrap().iter().filter_map(Value::as_f64).collect())
            .collect();
        let result = kripp(&units, level);
        Some(result.map(|it| json!({"alpha": it.alpha, "units": it.units, "values": it.values})))
    });
}

/// Classes of a vector.
fn labels(arguments: &Arguments) -> Vec<bool> {
    arguments.numbers("labels").into_iter().map(|label| label != 0.0).collect()
}

#[test]
fn vectors_of_areas_under_curves() {
    compare("auroc", |it| {
        let result = auroc(&labels(it), &it.numbers("scores"), it.confidence());
        Some(result.map(|it| {
            object(&[json!({"auroc": it.auroc, "se": it.se}), optional_ends(it.interval)])
        }))
    });
}

#[test]
fn vectors_of_best_thresholds() {
    compare("best_threshold", |it| {
        let resamples = it.size("resamples").unwrap() as u64;
        let result = best_threshold(&labels(it), &it.numbers("scores"), it.seed(), resamples, 0.95);
        Some(result.map(|it| {
            let own = json!({"threshold": it.threshold, "youden_j": it.youden_j, "used": it.used});
            object(&[own, optional_ends(it.interval)])
        }))
    });
}

#[test]
fn vectors_of_correlations() {
    compare("correlation", |it| {
        Some(correlation(&it.numbers("x"), &it.numbers("y")).map(|it| {
            json!({
                "pearson": it.pearson, "spearman": it.spearman,
                "kendall_tau_b": it.kendall_tau_b,
            })
        }))
    });
}

#[test]
fn vectors_of_random_numbers() {
    compare("pcg64", |it| {
        let n = it.size("below").unwrap();
        let mut random = Random::new(it.seed());
        let next: Vec<String> = (0..5).map(|_| random.next_u64().to_string()).collect();
        let mut random = Random::new(it.seed());
        let below: Vec<usize> = (0..8).map(|_| random.below(n)).collect();
        Some(Ok(json!({"next": next, "below": below})))
    });
}
