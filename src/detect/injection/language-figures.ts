// How the score does in each language, as test/bench/injection.ts --languages measures it on texts
// and templates that were left out of the training. README.md shows the same figures.

/** Score at which the figures hold: the model's own threshold. */
export const FIGURES_SCORE = 0.5

/** Shares in percent at FIGURES_SCORE. */
export interface LanguageFigures {
  /** ISO 639-1. */
  readonly language: string
  /** Innocent prose below 150 characters that is flagged. */
  readonly short: number
  /** Innocent prose from 150 characters on that is flagged. */
  readonly long: number
  /** Innocent letters, chats, tickets and minutes that are flagged. */
  readonly letters: number
  /** Innocent requests with an attack's words that are flagged. */
  readonly lookAlikes: number
  /** Attacks that are found. */
  readonly attacks: number
  /** Lowest score, in steps of 0.05, at which at most 1 % of prose and letters is flagged. */
  readonly blockFrom: number
}

export const LANGUAGE_FIGURES: readonly LanguageFigures[] = [
  { language: 'en', short: 0, long: 1.1, letters: 0, lookAlikes: 0, attacks: 46.5, blockFrom: 0.5 },
  { language: 'de', short: 0, long: 0.9, letters: 0, lookAlikes: 6.6, attacks: 40.4, blockFrom: 0.5 },
  { language: 'fr', short: 1.2, long: 0, letters: 0, lookAlikes: 3.9, attacks: 43, blockFrom: 0.45 },
  { language: 'es', short: 0.8, long: 0.8, letters: 0, lookAlikes: 1.1, attacks: 47.7, blockFrom: 0.5 },
  { language: 'it', short: 1.9, long: 0, letters: 0, lookAlikes: 0, attacks: 44.9, blockFrom: 0.55 },
  { language: 'pt', short: 3.7, long: 0.9, letters: 0, lookAlikes: 1.1, attacks: 41.3, blockFrom: 0.65 },
  { language: 'nl', short: 4, long: 0, letters: 0, lookAlikes: 3.6, attacks: 49.2, blockFrom: 0.55 },
  { language: 'pl', short: 0, long: 0, letters: 0, lookAlikes: 0.5, attacks: 35, blockFrom: 0.2 },
  { language: 'ru', short: 0, long: 0, letters: 0, lookAlikes: 0, attacks: 43.1, blockFrom: 0.25 },
  { language: 'uk', short: 3.2, long: 3.7, letters: 0, lookAlikes: 0.6, attacks: 50.4, blockFrom: 0.8 },
  { language: 'ro', short: 0, long: 0.6, letters: 17.1, lookAlikes: 1.2, attacks: 58, blockFrom: 0.7 },
  { language: 'tr', short: 1.4, long: 1.4, letters: 0, lookAlikes: 9.1, attacks: 16.7, blockFrom: 0.6 },
  { language: 'ja', short: 0, long: 0, letters: 0, lookAlikes: 0.6, attacks: 33.9, blockFrom: 0.3 },
  { language: 'zh', short: 0.8, long: 0, letters: 0, lookAlikes: 1.2, attacks: 45.2, blockFrom: 0.2 },
  { language: 'ko', short: 0, long: 0, letters: 0, lookAlikes: 0, attacks: 22.3, blockFrom: 0.2 },
  { language: 'hi', short: 0, long: 0.7, letters: 0, lookAlikes: 3.5, attacks: 20.3, blockFrom: 0.4 },
  { language: 'th', short: 0, long: 0, letters: 0, lookAlikes: 1.9, attacks: 6.5, blockFrom: 0.3 },
  { language: 'ar', short: 0, long: 0, letters: 0, lookAlikes: 0, attacks: 33.3, blockFrom: 0.35 },
  { language: 'id', short: 0, long: 0, letters: 0, lookAlikes: 0.6, attacks: 36.9, blockFrom: 0.3 },
  { language: 'vi', short: 1.2, long: 0.6, letters: 0, lookAlikes: 0, attacks: 43.4, blockFrom: 0.6 },
]
