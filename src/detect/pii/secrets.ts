// Credentials: known prefixes with enough behind them, tokens of three parts, private keys.

import { parseApiKey } from '../../core/apikey.ts'

const PREFIXED =
  /(?<![A-Za-z0-9])(?:sk-(?:ant-|proj-|or-v1-)?[A-Za-z0-9_-]{20,200}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{20,64}|(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,200}|AIza[A-Za-z0-9_-]{35}|[srp]k_(?:live|test)_[A-Za-z0-9]{16,200}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,64}|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}|eyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,1000}|sgate_live_[A-Za-z0-9]{49})/g
const KEY =
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=:,.\s-]{40,8000}?-----END [A-Z ]{0,30}PRIVATE KEY-----/g
/** How a key in text form begins (RFC 7468). */
export const KEY_BEGIN = '-----BEGIN '
const PLACEHOLDER = /x{5}|your|example|\.\.\.|0{8}|1234567890abcdef$/i

export function* findSecrets(text: string, from: number): Generator<{ start: number; end: number }> {
  if (text.includes(KEY_BEGIN)) {
    for (const { index, 0: key } of text.matchAll(KEY)) yield { start: index, end: index + key.length }
  }
  PREFIXED.lastIndex = from
  for (const { index, 0: token } of text.matchAll(PREFIXED)) {
    if (token.startsWith('sgate_live_') ? parseApiKey(token) : isRandom(token))
      yield { start: index, end: index + token.length }
  }
}

/** Enough different characters, digits among letters, and not a stand-in for a secret. */
const isRandom = (token: string): boolean =>
  new Set(token.slice(4)).size >= 8 &&
  /\d/.test(token) &&
  (token.startsWith('AKIA') || !PLACEHOLDER.test(token))
