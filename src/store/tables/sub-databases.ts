// Names the sub-databases of the store and says what each maps. Does not interpret them.

import type { Table } from './table.ts'

/** Each sub-database and what it maps. Keys and values are bytes; numbers are big-endian. */
export const SUB_DATABASES = [
  /** Name → JSON: the head of the log and its counts. */
  'meta',
  /** Sequence → hash and canonical bytes of an entry. */
  'entries',
  /** Level and index → a node of the Merkle tree over the entries. */
  'nodes',
  /** Number of entries → the signed note over them. */
  'checkpoints',
  /** Sequence → salt and captured exchange. */
  'content',
  /** Id of a usage entry → its sequence. */
  'ids',
  /** Dense ordinal of a usage entry → its sequence and its filter fields. */
  'requests',
  /** Sequence of a usage entry → the hash of its end user, its ordinal, and the clear text. */
  'users',
  /** Hash of an end user and ordinal of a usage entry → nothing. */
  'usercalls',
  /** UTC day and dense ordinal within it → location of a security event. */
  'security',
  /** UTC day → counts of its security events. */
  'days',
  /** SHA-256 of an API key → its record. */
  'keys',
  /** Id of an API key → its SHA-256. */
  'keyids',
  /** Id of an API key → time of its last use. */
  'keyuse',
  /** Rules and overrides made through the API. */
  'rules',
  /** Revision of a rule set → its rules. */
  'policies',
  /** Rule, key, window and bucket → tokens used. */
  'counters',
  /** SHA-256 of a session's id → the session. */
  'sessions',
  /** SHA-256 of the id of a stored answer → whose it is and where. */
  'stored',
  /** Creation time and SHA-256 of the id of a stored answer → nothing. */
  'storedtimes',
  /** Number of a combination of grouping fields → the newest day that has it, and its JSON. */
  'combinations',
  /** SHA-256 of the JSON of a combination → its number. */
  'combinationids',
  /** Hash of an end user and number of a combination that names the user → nothing. */
  'combinationusers',
  /**
   * Hash of a run → its newest day; day and hash → nothing; hash and number of a combination of the
   * run → nothing; how many runs there are, and the next number.
   */
  'combinationruns',
  /**
   * UTC day and a combination, end user or tool of its calls → nothing; UTC day → how many it has.
   */
  'combinationdays',
  /** UTC hour and number of a combination → sums of calls that are not packed. */
  'openhours',
  /** UTC hour or day → the sums of all its combinations. */
  'rollups',
  /** Name → JSON: what a sidecar knows of its hub besides the keys. */
  'fleet',
  /** Id of a key of the hub → JSON: the key as the hub sent it. */
  'fleetkeys',
  /** Id of a revoked key of the hub → when it was revoked. */
  'fleetrevoked',
  /** Sequence of a usage entry → JSON: what its call changed of stored answers, for a hub. */
  'storedchanges',
] as const

export type SubDatabase = (typeof SUB_DATABASES)[number]

export type StoreTables = Readonly<Record<SubDatabase, Table>>
