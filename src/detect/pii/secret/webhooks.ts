// Finds the addresses of webhooks, which are secret: they permit posting.

import { isDigit, SLASH } from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'
import type { Segment } from '../engine/segment.ts'
import { PLACEHOLDER } from './randomness.ts'
import { UUID } from './token-forms.ts'

const SLACK_HOST = 'hooks.slack.'
const SLACK =
  /com\/(?:services|workflows|triggers)\/(?<path>T[A-Z0-9]{8,12}\/(?:[AB][A-Z0-9]{8,12}\/(?:\d{15,20}\/)?[A-Za-z0-9]{24}|\d{10,16}\/[a-z0-9]{32}))(?![A-Za-z0-9/+])/y
const DISCORD_ID = /(?<=\/webhooks\/\d{17,20}\/)/y
const DISCORD = /[A-Za-z0-9_-]{60,80}(?![A-Za-z0-9_-])/y
const UUID_CHARACTERS = 36
const TEAMS = new RegExp(
  `${UUID}@${UUID}/IncomingWebhook/[0-9a-f]{32}/${UUID}(?:/[A-Za-z0-9_-]{20,80})?`,
  'y',
)

/** @param start of the run of base64 after the host */
export function scanSlackWebhook(segment: Segment, start: number): number {
  if (!segment.text.startsWith(SLACK_HOST, start - SLACK_HOST.length)) return 0
  SLACK.lastIndex = start
  const path = SLACK.exec(segment.text)?.groups?.['path']
  if (path === undefined || PLACEHOLDER.test(path)) return 0
  return segment.add('secret', SLACK.lastIndex - path.length, SLACK.lastIndex) ? SLACK.lastIndex : 0
}

/** Reports whether the secret part of a webhook of Discord may start at an offset. */
export function isDiscordWebhook(text: string, start: number): boolean {
  if (!isDigit(codeAt(text, start - 2)) || !isDigit(codeAt(text, start - 18))) return false
  DISCORD_ID.lastIndex = start
  return DISCORD_ID.test(text)
}

/** @param start of the word that may be the secret part */
export function scanDiscordWebhook(segment: Segment, start: number): number {
  if (codeAt(segment.text, start - 1) !== SLASH || !isDiscordWebhook(segment.text, start)) return 0
  DISCORD.lastIndex = start
  const value = DISCORD.exec(segment.text)?.[0]
  if (value === undefined || PLACEHOLDER.test(value)) return 0
  return segment.add('secret', start, start + value.length) ? start + value.length : 0
}

/** @param at of the `@` between two ids in the path of a webhook of Teams */
export function scanTeamsWebhook(segment: Segment, at: number): number {
  const start = at - UUID_CHARACTERS
  if (start < segment.end || codeAt(segment.text, at + UUID_CHARACTERS + 1) !== SLASH) return 0
  TEAMS.lastIndex = start
  const value = TEAMS.exec(segment.text)?.[0]
  if (value === undefined) return 0
  return segment.add('secret', start, start + value.length) ? start + value.length : 0
}
