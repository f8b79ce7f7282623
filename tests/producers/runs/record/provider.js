// An agent that knows some capitals. `config.answers` is its version.
const CAPITALS = { France: 'Paris', Japan: 'Tokyo', Peru: 'Lima', Kenya: 'Nairobi', Chad: "N'Djamena", Fiji: 'Suva' };
const WRONG = { base: 'Japan', new: 'Peru', broken: 'Kenya' };
let aboutJapan = 0;

module.exports = class {
  constructor(options) {
    this.version = options.config.answers;
  }

  id() {
    return 'agent';
  }

  async callApi(prompt, { vars }) {
    const { country } = vars;
    aboutJapan += country === 'Japan';
    if (this.version === 'broken' && country === 'France') {
      return { error: 'the agent cannot be reached' };
    }
    // An unsteady agent is wrong about Japan in its first answer only.
    if (country === WRONG[this.version] || (this.version === 'unsteady' && country === 'Japan' && aboutJapan === 1)) {
      return { output: 'Sorry, I do not know that, but I can look for it in a book if that is of any help.' };
    }
    return { output: `It is ${CAPITALS[country]}.` };
  }
};
