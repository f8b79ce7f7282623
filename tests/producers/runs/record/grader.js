// A model that judges: it finds every answer polite, and cannot be reached by the version `broken`.
module.exports = class {
  id() {
    return 'grader';
  }

  async callApi() {
    if (process.env.ANSWERS === 'broken') {
      return { error: 'the judge cannot be reached' };
    }
    return { output: JSON.stringify({ pass: true, score: 0.9, reason: 'it is polite' }) };
  }
};
