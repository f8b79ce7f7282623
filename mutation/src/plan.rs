//! Which edits of which conversations an evaluator is tried with.

use evaluator_statistics::Random;
use evaluator_traces::conversation::Conversation;

use crate::{
    kind::{Effect, Expectations},
    operator::{GOLDEN, Mutation, OPERATORS, Operator, RELATIONS},
    subject::Subject,
};

/// Operators that follow another one in edits of two. None of them undoes another.
const SECOND: [&str; 2] = ["rename_tool", "empty_answer"];

/// What a trial shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whether damage is noticed.
    Damage(Effect),
    /// Whether the score stays the same.
    Relation,
    /// Whether the score of two edits is above that of the first one.
    Pair,
    /// The score that another trial must not exceed.
    Control,
    /// The score that no damage of the same conversation may exceed.
    Golden,
}

/// An edit of a conversation that an evaluator is asked about.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Number of the conversation.
    pub conversation: usize,
    /// The edit.
    pub mutation: Mutation,
    /// What it shows.
    pub role: Role,
    /// Index of the trial that must not score lower.
    pub control: Option<usize>,
}

/// How many edits are tried, and which.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Maximum number of damaged conversations.
    pub sample: usize,
    /// Seed of the sample.
    pub seed: u64,
    /// Whether relations are tried, too.
    pub relations: bool,
    /// Operators to use; all if it is empty.
    pub operators: Vec<&'static Operator>,
    /// The only edit to try.
    pub only: Option<Mutation>,
}

impl Choice {
    /// Returns true if an operator is used.
    fn has(&self, operator: &Operator) -> bool {
        match &self.only {
            Some(only) => only.operator == operator,
            None => self.operators.is_empty() || self.operators.contains(&operator),
        }
    }

    /// Returns the maximum number of conversations of a relation.
    fn of_relation(&self) -> usize {
        if self.only.is_some() { usize::MAX } else { (self.sample / RELATIONS.len()).max(5) }
    }
}

/// A possible edit of a conversation.
#[derive(Debug)]
struct Candidate {
    conversation: usize,
    mutation: Mutation,
    role: Role,
    /// The edit that must not score lower.
    control: Option<Mutation>,
}

/// The possible edits with an operator.
#[derive(Debug)]
struct Pool {
    operator: &'static Operator,
    role: Role,
    candidates: Vec<Candidate>,
    not_applicable: usize,
}

impl Pool {
    /// Returns the effect of its damage: that which has to be noticed, if there is any.
    fn effect(&self, of_operator: Effect) -> Effect {
        let has = |it: &Effect| self.candidates.iter().any(|one| one.role == Role::Damage(*it));
        [Effect::Down, Effect::Any].into_iter().find(has).unwrap_or(of_operator)
    }
}

/// Collects the possible edits of all conversations that an evaluator passes.
#[derive(Debug)]
pub struct Draft<'c> {
    choice: &'c Choice,
    expectations: &'c Expectations,
    damage: Vec<Pool>,
    relations: Vec<Pool>,
    pairs: Vec<Candidate>,
}

impl<'c> Draft<'c> {
    /// Creates a draft without conversations.
    pub fn new(expectations: &'c Expectations, choice: &'c Choice) -> Self {
        let pool = |operator, role| Pool { operator, role, candidates: vec![], not_applicable: 0 };
        let damage = OPERATORS.iter().filter(|operator| choice.has(operator));
        let damage = damage.filter_map(|operator| {
            Some(pool(operator, Role::Damage(operator.effect(expectations)?)))
        });
        let mut relations = Vec::new();
        let is_tried = |operator: &&Operator| match &choice.only {
            // Damage is held against the golden conversation, too.
            Some(only) if **operator == GOLDEN => choice.relations || only.operator == *operator,
            Some(only) => only.operator == *operator,
            None => choice.relations,
        };
        let wanted =
            |operator: &&Operator| is_tried(operator) && !expectations.skips(operator.name);
        relations.extend(RELATIONS.iter().filter(wanted).map(|it| pool(it, Role::Relation)));
        let has_kind = expectations.kind.is_some() && GOLDEN.effect(expectations).is_some();
        let golden = [&GOLDEN].into_iter().filter(wanted).filter(|_| has_kind);
        relations.extend(golden.map(|operator| pool(operator, Role::Golden)));
        Self { damage: damage.collect(), relations, pairs: Vec::new(), choice, expectations }
    }

    /// Adds the edits of a conversation. `meets` says whether an edited one has what the evaluator asks for, if that is known:
    /// the loss of it has to be noticed, and other damage of the same operator need not be.
    pub fn add(
        &mut self,
        conversation: usize,
        subject: &Subject<'_>,
        meets: Option<&dyn Fn(&Conversation) -> bool>,
    ) {
        let only = self.choice.only.as_ref();
        let role_of = |role: Role, mutation: &Mutation| match (role, meets) {
            (Role::Damage(Effect::Down | Effect::Any), Some(meets)) => {
                let lacks = |edited: Conversation| !meets(&edited);
                let is_lost =
                    meets(subject.conversation) && mutation.apply(subject).is_some_and(lacks);
                Role::Damage(if is_lost { Effect::Down } else { Effect::Any })
            }
            _ => role,
        };
        for pool in self.damage.iter_mut().chain(&mut self.relations) {
            let sites = pool.operator.sites(subject);
            pool.not_applicable += usize::from(sites.is_empty());
            for site in sites {
                let mutation = Mutation::new(pool.operator, site);
                let only = only.filter(|_| pool.role != Role::Golden);
                if only.is_none_or(|only| Mutation { then: None, ..*only } == mutation) {
                    let mutation = only.copied().unwrap_or(mutation);
                    let control = mutation.control(subject);
                    let role = role_of(pool.role, &mutation);
                    pool.candidates.push(Candidate { conversation, mutation, role, control });
                }
            }
        }
        self.add_pair(conversation, subject);
    }

    /// Adds an edit of two, of which the second one is always the same of a conversation.
    fn add_pair(&mut self, conversation: usize, subject: &Subject<'_>) {
        if !self.choice.relations || self.choice.only.is_some() {
            return;
        }
        let has_to_fall = |pool: &&Pool| pool.role == Role::Damage(Effect::Down);
        let falling: Vec<&Pool> = self.damage.iter().filter(has_to_fall).collect();
        let Some(first) = falling.get(conversation.checked_rem(falling.len()).unwrap_or_default())
        else {
            return;
        };
        let last = first.candidates.last().filter(|it| it.conversation == conversation);
        let Some(mutation) = last.map(|it| it.mutation) else { return };
        let Some(changed) = mutation.apply(subject) else { return };
        let changed = Subject { conversation: &changed, ..*subject };
        let then = SECOND.iter().find_map(|name| {
            let operator = Operator::named(name)?;
            let effect = operator.effect(self.expectations)?;
            let site = operator.sites(&changed).into_iter().next();
            site.filter(|_| effect == Effect::Down).map(|site| (operator, site))
        });
        let Some(then) = then else { return };
        let (pair, control) = (Mutation { then: Some(then), ..mutation }, Some(mutation));
        self.pairs.push(Candidate { conversation, mutation: pair, role: Role::Pair, control });
    }

    /// Chooses the trials: damage evenly over operators, and the same number of conversations for each relation. Returns them with
    /// the number of conversations in which an operator has no place.
    pub fn trials(self) -> (Vec<Trial>, Vec<(&'static Operator, Effect, usize)>) {
        let Self { choice, damage, relations, pairs, .. } = self;
        let mut random = Random::new(choice.seed);
        let not_applicable = damage.iter().filter_map(|pool| match pool.role {
            Role::Damage(effect) => Some((pool.operator, pool.effect(effect), pool.not_applicable)),
            _ => None,
        });
        let not_applicable = not_applicable.collect();
        let sizes: Vec<usize> = damage.iter().map(|pool| pool.candidates.len()).collect();
        let shares = shares(&sizes, choice.sample);
        let damage = damage.into_iter().zip(shares);
        let damage = damage.map(|(pool, share)| (pool.candidates, share));
        let most = choice.of_relation();
        let relations = relations.into_iter().map(|pool| (pool.candidates, most));
        let mut trials: Vec<Trial> = Vec::new();
        for (mut candidates, share) in damage.chain(relations).chain([(pairs, most)]) {
            random.shuffle(&mut candidates);
            candidates.truncate(share);
            // In the order of the conversations, whatever the sample is.
            candidates.sort_by_key(|it| (it.conversation, it.mutation.site));
            for Candidate { conversation, mutation, role, control } in candidates {
                let control =
                    control.map(|control| controlling(&mut trials, conversation, control));
                let role = if mutation.then.is_some() { Role::Pair } else { role };
                trials.push(Trial { conversation, mutation, role, control });
            }
        }
        (trials, not_applicable)
    }
}

/// Returns the index of a trial with this edit, which is added if there is none.
fn controlling(trials: &mut Vec<Trial>, conversation: usize, mutation: Mutation) -> usize {
    let same = |it: &Trial| it.conversation == conversation && it.mutation == mutation;
    trials.iter().position(same).unwrap_or_else(|| {
        trials.push(Trial { conversation, mutation, role: Role::Control, control: None });
        trials.len() - 1
    })
}

/// Shares a number evenly; what a small part cannot take goes to the others.
fn shares(sizes: &[usize], number: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|index| sizes[*index]);
    let mut shares = vec![0; sizes.len()];
    let mut left = number;
    for (place, index) in order.into_iter().enumerate() {
        shares[index] = sizes[index].min(left.div_ceil(sizes.len() - place));
        left -= shares[index];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_even_and_whole() {
        for (sizes, number, expected) in [
            (&[10, 10, 10][..], 9, &[3, 3, 3][..]),
            (&[1, 10, 10], 9, &[1, 4, 4]),
            (&[0, 1, 2], 200, &[0, 1, 2]),
            (&[], 5, &[]),
            (&[5, 5], 3, &[2, 1]),
        ] {
            assert_eq!(shares(sizes, number), expected, "{sizes:?} {number}");
        }
    }
}
