// Recognises names with an `@` that are no addresses: algorithms of SSH, remotes of repositories
// and ids of messages.

import { COLON, LESS_THAN, QUOTE, SLASH } from '../../core/ascii.ts'
import { codeAt } from './code-unit-classes.ts'

/** Domains at the end of the names of SSH algorithms and requests (RFC 4251 §6). */
const ALGORITHM_DOMAINS = new Set([
  'openssh.com',
  'libssh.org',
  'tinyssh.org',
  'lysator.liu.se',
  'ssh.com',
  'putty.projects.tartarus.org',
])
/** Rules out most domains. */
const ALGORITHM_LENGTHS = new Set([...ALGORITHM_DOMAINS].map(({ length }) => length))
const OPENSSH = 'openssh.com'
/** Two parts at least: `aes256-gcm`. */
const ALGORITHM = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)+$/

/** Reports whether it is the name of an algorithm or a request: `aes256-gcm@openssh.com`. */
export const isAlgorithm = (text: string, start: number, domain: number, end: number): boolean => {
  if (!ALGORITHM_LENGTHS.has(end - domain)) return false
  const name = text.slice(domain, end)
  return ALGORITHM_DOMAINS.has(name) && (name === OPENSSH || ALGORITHM.test(text.slice(start, domain - 1)))
}

/** Hosts of repositories. */
const FORGE =
  /(?:^|\.)(?:github|gitlab|bitbucket|codeberg|visualstudio|azure|gitea|sr|sourceforge|gitee)\.(?:com|org|net|ht|io)$|^(?:git|ssh|gitlab|gitea|github)\./i
/** The path of a repository after a host. */
const REPOSITORY_PATH = /:(?!\/\/)(?:\d{1,5}\/)?~?[\w.-]{1,64}(?:\/[\w.~-]{1,64}){0,6}/y

/**
 * Reports whether it is a user at a host before the path of a repository:
 * `org-1@github.com:octo/repo.git`.
 */
export function isRemote(text: string, domain: number, end: number): boolean {
  if (codeAt(text, end) !== COLON) return false
  REPOSITORY_PATH.lastIndex = end
  const path = REPOSITORY_PATH.exec(text)?.[0]
  if (path === undefined) return false
  return path.endsWith('.git') || (path.includes('/') && FORGE.test(text.slice(domain, end)))
}

/** Headers of ids of messages and their parts (RFC 5322 §3.6.4), in quotation marks in JSON. */
const MESSAGE_HEADER =
  /(?:message-id|in-reply-to|references|content-id|x-[\w-]{1,24}-id)["']?: ?["']?[^\n:]{0,48}$/i
/** Another id before it, which may be on the line before. */
const MESSAGE_BEFORE = /@[\w.-]+>\s{1,4}<$/
/** Archives that name messages by their ids. */
const ARCHIVE_BEFORE = /(?:lore\.kernel\.org|msgid\.link|mail-archive\.com|marc\.info)\/[^\s@]*$/
/** Characters of a header or of the id before that are read. */
const MAXIMUM_HEADER = 64
/** A time, or what a large provider makes. */
const MESSAGE = /\d{14}|^CA[A-Za-z0-9+_=-]{20}|^[0-9a-f-]{32,}$/i
/** Characters of a time. */
const MINIMUM_MESSAGE = 14
const MINIMUM_MESSAGE_DIGITS = /(?:\d\D{0,8}){6}/

/** Reports whether it is the id of a message. */
export function isMessage(text: string, start: number, at: number): boolean {
  const local = text.slice(start, at)
  if (local.length >= MINIMUM_MESSAGE && MESSAGE.test(local)) return true
  const sign = codeAt(text, start - 1)
  if (sign !== LESS_THAN && sign !== QUOTE && sign !== SLASH) return false
  const before = text.slice(Math.max(0, start - MAXIMUM_HEADER), start)
  if (sign === SLASH) return ARCHIVE_BEFORE.test(before)
  if (MESSAGE_HEADER.test(before)) return true
  return MESSAGE_BEFORE.test(before) && MINIMUM_MESSAGE_DIGITS.test(local)
}
