// Schemas of sessions, keys and rules, and of request bodies, by their names in the description of the
// API.

import { ERRORS } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { RULE_ACTIONS, RULE_TYPES } from '../../policy/rule.ts'
import {
  bounded,
  choice,
  flag,
  list,
  object,
  orNull,
  ref,
  short,
  text,
  time,
  whole,
} from './schema-builders.ts'

const EFFECTS = ['none', ...RULE_ACTIONS]
const DIFFERENCE = {
  rule: text("The rule's name."),
  direction: choice('Prompt or answer.', 'request', 'response'),
  live: choice('What the rule does in force; none where it does not fire or is not there.', ...EFFECTS),
  candidate: choice('What it does on trial.', ...EFFECTS),
}

const RULE_DECLARATION = {
  name: text('Unique among all rules.'),
  type: choice('What it looks at.', ...RULE_TYPES),
  pattern: text('Depends on the type: alternatives, kinds, a threshold or a limit.'),
  action: choice('What it does.', ...RULE_ACTIONS),
  enabled: flag('Whether it is in force.'),
  description: text('For people.'),
  match: {
    type: 'object',
    description: 'Which calls it concerns.',
    properties: {
      models: list(text('Glob over model names.')),
      keys: list(text('Glob over key names.')),
      direction: choice('Which way.', 'request', 'response', 'both'),
    },
  },
} satisfies Record<string, JsonObject>

export const MANAGEMENT_SCHEMAS: Record<string, JsonObject> = {
  UpstreamError: {
    description: "The upstream's own answer, scanned: any JSON, most often an object with `error`.",
  },
  Error: object({
    error: object(
      {
        message: text('For people; says what to do next.'),
        type: choice('Class.', ...new Set(Object.values(ERRORS).map(({ type }) => type))),
        param: orNull(text('Path of the field at fault.')),
        code: choice('Stable.', ...Object.keys(ERRORS)),
        rule_id: text('The rule that refused.'),
        rule_name: text('Its name.'),
      },
      ['rule_id', 'rule_name'],
    ),
  }),
  Session: object({ user: text('Who is signed in.'), expires_at: time('When it ends.') }, ['user']),
  SignedOut: object({ signed_out: flag('Always true.') }),
  NewKey: object({
    id: text('UUIDv7.'),
    key: {
      type: 'string',
      pattern: '^sgate_live_[0-9A-Za-z]{49}$',
      description: 'The secret, shown this once.',
    },
    name: text('Name.'),
    created_at: time('When it was made.'),
  }),
  Key: object({
    id: text('Identity.'),
    name: text('Name.'),
    prefix: orNull(text('The part of the key that may be shown; null for keys of the configuration.')),
    created_at: orNull(time('When it was made; null for keys of the configuration.')),
    last_used_at: orNull(time('Last accepted, within a minute.')),
    revoked_at: orNull(time('When it was revoked.')),
    state: choice('Whether it is accepted.', 'active', 'revoked'),
    source: choice('Where it is declared.', 'api', 'file'),
  }),
  Keys: object({ keys: list(ref('Key')), total: whole('How many.') }),
  RuleDeclaration: object(
    {
      ...RULE_DECLARATION,
      pattern: { ...RULE_DECLARATION.pattern, default: '' },
      enabled: { ...RULE_DECLARATION.enabled, default: true },
    },
    ['pattern', 'enabled', 'description', 'match'],
  ),
  Rule: object(
    {
      id: text('UUIDv5 of the name for file rules, UUIDv7 for others.'),
      ...RULE_DECLARATION,
      source: object(
        { kind: choice('Owner.', 'file', 'api'), path: text('File.'), line: whole('Line.', 1) },
        ['path', 'line'],
      ),
      declared_enabled: flag('As the file says.'),
      override: orNull(object({ reason: text('Why.'), expires_at: orNull(time('When it ends by itself.')) })),
      created_at: time('When it was first seen.'),
      updated_at: time('When it last changed.'),
    },
    ['description', 'match'],
  ),
  Rules: object({
    rules: list(ref('Rule')),
    total: whole('How many.'),
    revision: text('Of the set in force.'),
    declared_revision: text('Of the files alone: another one exactly when the API has changed something.'),
    errors: list(ref('RuleProblem')),
  }),
  RuleRevision: object({
    revision: text('As the entries of calls name it, `policy_revision`.'),
    first_seen_at: time('When it was first in force.'),
    rules: list(object({ id: text('The id of the rule.'), ...RULE_DECLARATION }, ['description', 'match'])),
  }),
  RuleProblem: object({
    file: text('File.'),
    line: whole('Line.'),
    column: whole('Column.'),
    path: text('JSON path.'),
    message: text('What is wrong.'),
    text: text('All of it in one line.'),
  }),
  Trial: object({
    path: text('Where the rules on trial are declared.'),
    revision: orNull(text('Of the set on trial; null before one could be read.')),
    rules: whole('Rules in it.'),
    errors: list(ref('RuleProblem')),
    since: time('When either set last changed: what follows counts from there.'),
    calls: whole('Calls judged by both sets.'),
    changed: whole('Calls with at least one difference.'),
    skipped: whole('Calls not judged, because too many waited.'),
    differences: list(object({ ...DIFFERENCE, calls: whole('Calls with this difference.', 1) })),
    samples: list(
      object({
        log_id: text("The usage entry's id."),
        created_at: time('When the call arrived.'),
        ...DIFFERENCE,
      }),
    ),
  }),
}

export const BODY_SCHEMAS: Record<string, JsonObject> = {
  SignIn: object({ token: text('The admin token.') }),
  KeyName: object({ name: short(1, 128) }),
  RuleChange: object(
    {
      enabled: flag('The state wanted.'),
      reason: { type: 'string', maxLength: 500 },
      ttl_seconds: bounded(1, 31_536_000),
    },
    ['reason', 'ttl_seconds'],
  ),
  EraseSelection: {
    description: 'Exactly one of them.',
    oneOf: [
      object({ request_id: text('One call, by the id of its usage entry.') }),
      object({ key_id: text('All calls of an API key.') }),
      object({ before: time('All calls that arrived before it.') }),
    ],
  },
  ChatRequest: object({ model: { type: 'string', minLength: 1 }, messages: { type: 'array', minItems: 1 } }),
}
