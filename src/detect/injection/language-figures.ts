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
  { language: 'en', short: 1.1, long: 1.1, letters: 1, lookAlikes: 0, attacks: 39.5, blockFrom: 0.55 },
  { language: 'de', short: 0, long: 0.9, letters: 0, lookAlikes: 7.7, attacks: 45.3, blockFrom: 0.4 },
  { language: 'fr', short: 0, long: 0, letters: 0, lookAlikes: 1.7, attacks: 46.3, blockFrom: 0.35 },
  { language: 'es', short: 1.6, long: 0, letters: 0, lookAlikes: 0.5, attacks: 53.5, blockFrom: 0.55 },
  { language: 'it', short: 0.9, long: 0, letters: 0, lookAlikes: 0, attacks: 54.4, blockFrom: 0.5 },
  { language: 'pt', short: 1.9, long: 0.9, letters: 0, lookAlikes: 4.5, attacks: 47.3, blockFrom: 0.75 },
  { language: 'nl', short: 0, long: 1, letters: 0, lookAlikes: 3, attacks: 52.4, blockFrom: 0.5 },
  { language: 'pl', short: 0, long: 1.4, letters: 0, lookAlikes: 3.8, attacks: 39.3, blockFrom: 0.25 },
  { language: 'ru', short: 0, long: 0, letters: 0, lookAlikes: 4.1, attacks: 39.6, blockFrom: 0.35 },
  { language: 'uk', short: 3.7, long: 3.2, letters: 0, lookAlikes: 0.6, attacks: 55.5, blockFrom: 0.75 },
  { language: 'ro', short: 0, long: 0, letters: 8.2, lookAlikes: 0.6, attacks: 57, blockFrom: 0.65 },
  { language: 'tr', short: 1.4, long: 0, letters: 0, lookAlikes: 17.1, attacks: 34.1, blockFrom: 0.55 },
  { language: 'ja', short: 0, long: 0, letters: 0, lookAlikes: 0.6, attacks: 44.4, blockFrom: 0.4 },
  { language: 'zh', short: 0.8, long: 0, letters: 0, lookAlikes: 6.5, attacks: 50.4, blockFrom: 0.25 },
  { language: 'ko', short: 0, long: 0, letters: 0, lookAlikes: 4.3, attacks: 33.1, blockFrom: 0.2 },
  { language: 'hi', short: 0, long: 1.3, letters: 0, lookAlikes: 2.3, attacks: 22, blockFrom: 0.6 },
  { language: 'th', short: 0, long: 0, letters: 0, lookAlikes: 7.8, attacks: 10.5, blockFrom: 0.35 },
  { language: 'ar', short: 0, long: 0, letters: 0, lookAlikes: 0, attacks: 37.5, blockFrom: 0.3 },
  { language: 'id', short: 0.9, long: 0, letters: 0, lookAlikes: 1.3, attacks: 49.5, blockFrom: 0.4 },
  { language: 'vi', short: 1.7, long: 0.6, letters: 0, lookAlikes: 0, attacks: 44.3, blockFrom: 0.6 },
]
