//! Cases of a run: which conversations are recordings of the same case, and which cases are not independent.

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZero,
    sync::Arc,
};

use crate::ConversationReport;

/// The cases of a run, and their clusters.
///
/// A case is a golden case. Where a conversation has none, it is the value of the attribute that identifies cases, or else
/// the conversation itself. Cases with the same value of the attribute for clusters are one unit. So are those without a
/// value, since nothing is known about them, and clusters that share a case, since its recordings are not independent.
#[derive(Debug, Default)]
pub struct Cases {
    /// Numbers of cases that may have several conversations.
    numbers: HashMap<Arc<str>, usize>,
    /// Ids of all cases, one after the other: there may be millions.
    ids: String,
    /// Where the id of each case ends.
    ends: Vec<usize>,
    /// Sums of the digests of what each case has recorded, in whatever order; `None` if a digest is not known.
    contents: Vec<Content>,
    conversations: u64,
    /// Cluster of each case. Cases behind the last one have none.
    clusters: Vec<Option<usize>>,
    /// Numbers of clusters.
    cluster_numbers: HashMap<Arc<str>, usize>,
    cluster_names: Vec<Arc<str>>,
    /// An earlier cluster that each one is a unit with, or itself.
    joined_to: Vec<usize>,
    /// Number of clusters that are not joined to others.
    units: u64,
    /// Number of cases without a cluster.
    unknown: u64,
    /// Cases with several clusters.
    in_several: BTreeSet<usize>,
}

/// Numbers of cases and of their units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseCount {
    /// Number of cases.
    pub cases: u64,
    /// Number of independent units among them; `None` without clusters, where each case is one.
    pub clusters: Option<u64>,
    /// Whether each case has one conversation.
    pub are_single: bool,
}

type Content = Option<NonZero<u64>>;

/// Name of the unit of cases without a cluster. No cluster has it.
const UNKNOWN: &str = "";

impl Cases {
    /// Adds a conversation. Returns the number of its case.
    pub fn add(&mut self, conversation: &ConversationReport) -> usize {
        self.conversations += 1;
        let next = self.len();
        let named = conversation.named_case();
        let case = named.map_or(next, |id| *self.numbers.entry(Arc::clone(id)).or_insert(next));
        let content = conversation.content.and_then(|content| NonZero::new(content.number()));
        if case == next {
            self.ids.push_str(conversation.case());
            self.ends.push(self.ids.len());
            self.contents.push(content);
            self.unknown += 1;
        } else {
            self.contents[case] = add(self.contents[case], content);
        }
        if let Some(cluster) = &conversation.cluster {
            self.add_cluster(case, cluster);
        }
        case
    }

    fn add_cluster(&mut self, case: usize, name: &Arc<str>) {
        let next = self.cluster_names.len();
        let cluster = *self.cluster_numbers.entry(Arc::clone(name)).or_insert(next);
        if cluster == next {
            self.cluster_names.push(Arc::clone(name));
            self.joined_to.push(cluster);
            self.units += 1;
        }
        if self.clusters.len() <= case {
            self.clusters.resize(case + 1, None);
        }
        let Some(first) = self.clusters[case] else {
            self.clusters[case] = Some(cluster);
            self.unknown -= 1;
            return;
        };
        if first != cluster {
            self.in_several.insert(case);
            let (one, other) = (self.unit(first), self.unit(cluster));
            self.joined_to[one.max(other)] = one.min(other);
            self.units -= u64::from(one != other);
        }
    }

    /// Returns the cluster that stands for those that a cluster is a unit with.
    fn unit(&self, mut cluster: usize) -> usize {
        while self.joined_to[cluster] != cluster {
            cluster = self.joined_to[cluster];
        }
        cluster
    }

    /// Returns the numbers of cases and units.
    pub fn count(&self) -> CaseCount {
        let cases = self.len() as u64;
        let units = self.units + u64::from(self.unknown > 0);
        CaseCount {
            cases,
            clusters: self.are_clustered().then_some(units),
            are_single: cases == self.conversations,
        }
    }

    /// Returns true if all cases of both runs have the same recordings, and there is one.
    pub(crate) fn have_same_recordings(&self, other: &Self) -> bool {
        let (base, new) = (self.by_id(), other.by_id());
        let mut both = new.iter().filter_map(|(id, now)| Some((base.get(id)?, now))).peekable();
        both.peek().is_some() && both.all(|(was, now)| was == now && now.is_some())
    }

    /// Sums of the digests of what was recorded, by the ids of the cases.
    fn by_id(&self) -> HashMap<&str, Content> {
        let mut contents = HashMap::with_capacity(self.len());
        for (case, content) in self.contents.iter().enumerate() {
            let sum = contents.entry(self.id(case));
            sum.and_modify(|known| *known = add(*known, *content)).or_insert(*content);
        }
        contents
    }

    /// Number of conversations.
    pub(crate) fn conversations(&self) -> u64 {
        self.conversations
    }

    /// Number of cases.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Id of the case with this number.
    pub(crate) fn id(&self, case: usize) -> &str {
        let start = case.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ids[start..self.ends[case]]
    }

    /// Returns true if any case has a cluster.
    pub(crate) fn are_clustered(&self) -> bool {
        !self.cluster_names.is_empty()
    }

    /// Number of cases with several clusters.
    pub(crate) fn in_several_clusters(&self) -> u64 {
        self.in_several.len() as u64
    }

    /// Returns the name of the unit of a case; `None` if cases have no clusters.
    pub(crate) fn cluster(&self, case: usize) -> Option<&str> {
        let own = self.clusters.get(case).copied().flatten();
        match own {
            Some(cluster) => Some(&self.cluster_names[self.unit(cluster)]),
            None => self.are_clustered().then_some(UNKNOWN),
        }
    }
}

fn add(one: Content, other: Content) -> Content {
    NonZero::new(one?.get().wrapping_add(other?.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(
        golden: Option<&str>,
        case: Option<&str>,
        cluster: Option<&str>,
    ) -> ConversationReport {
        ConversationReport {
            eval_case_id: golden.map(Into::into),
            case: case.map(Into::into),
            cluster: cluster.map(Into::into),
            ..ConversationReport::new("t".into())
        }
    }

    #[test]
    fn a_golden_case_precedes_an_attribute_and_that_the_conversation() {
        let mut cases = Cases::default();
        let numbers = [
            (Some("golden"), Some("a")),
            (None, Some("a")),
            (None, None),
            (None, Some("a")),
            (None, None),
            (Some("golden"), None),
        ]
        .map(|(golden, case)| cases.add(&conversation(golden, case, None)));
        assert_eq!(numbers, [0, 1, 2, 1, 3, 0]);
        let ids: Vec<&str> = (0..4).map(|case| cases.id(case)).collect();
        assert_eq!(ids, ["golden", "a", "t", "t"]);
        let count = CaseCount { cases: 4, clusters: None, are_single: false };
        assert_eq!((cases.count(), cases.cluster(0)), (count, None));
    }

    #[test]
    fn clusters_that_share_a_case_are_one_unit_and_so_are_unknown_ones() {
        let mut cases = Cases::default();
        for (case, cluster) in [
            ("a", Some("one")),
            ("b", Some("two")),
            ("c", Some("three")),
            ("c", Some("two")),
            ("d", None),
            ("e", None),
            ("c", Some("four")),
            ("f", Some("four")),
        ] {
            cases.add(&conversation(Some(case), None, cluster));
        }
        let units: Vec<_> = (0..cases.len()).map(|case| cases.cluster(case).unwrap()).collect();
        assert_eq!(units, ["one", "two", "two", UNKNOWN, UNKNOWN, "two"]);
        assert_eq!((cases.count().clusters, cases.in_several_clusters()), (Some(3), 1));
    }
}
