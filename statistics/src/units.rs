//! Units: what is independent of each other in a sample, a case or a cluster of cases.

use std::{borrow::Cow, collections::HashMap, iter};

use crate::{
    refusal::{Refusal, require},
    sum::sum,
};

/// Sum and number of the values of each unit, in the order in which units first occur. There may be millions.
#[derive(Clone, Debug)]
pub(crate) struct Units<'v> {
    pub(crate) sums: Cow<'v, [f64]>,
    /// Empty if each unit is one value.
    pub(crate) sizes: Vec<f64>,
}

impl<'v> Units<'v> {
    /// Groups values by cluster. Without clusters, each value is a unit.
    pub(crate) fn new(
        values: &'v [f64],
        clusters: Option<&[Option<&str>]>,
    ) -> Result<Self, Refusal> {
        let Some(clusters) = clusters else {
            return Ok(Self { sums: values.into(), sizes: Vec::new() });
        };
        let groups = groups(values, clusters)?;
        Ok(Self {
            sums: groups.iter().map(|values| sum(values.iter().copied())).collect(),
            sizes: groups.iter().map(|values| values.len() as f64).collect(),
        })
    }

    /// Sum and number of the values of each unit.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, f64)> {
        let sizes = self.sizes.iter().copied().chain(iter::repeat(1.0));
        self.sums.iter().copied().zip(sizes)
    }

    /// Number of units.
    pub(crate) fn len(&self) -> usize {
        self.sums.len()
    }
}

/// Returns the values of each cluster, in the order in which clusters first occur.
pub(crate) fn groups(values: &[f64], clusters: &[Option<&str>]) -> Result<Vec<Vec<f64>>, Refusal> {
    require(values.len() == clusters.len(), Refusal::Length)?;
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<Vec<f64>> = Vec::new();
    for (value, cluster) in values.iter().zip(clusters) {
        let cluster = cluster.ok_or(Refusal::ClusterMissing)?;
        let number = *numbers.entry(cluster).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(*value);
    }
    Ok(groups)
}
