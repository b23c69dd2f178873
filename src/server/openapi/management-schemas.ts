// Schemas of sessions, keys and rules, and of request bodies, by their names in the description of
// the API.

import { API_NAMES, APIS } from '../../chat/apis.ts'
import { ADMIN_ROLES, SIGN_IN_METHODS } from '../../core/admin-role.ts'
import { ERRORS } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { TERM_SCHEMAS } from '../../core/key-terms.ts'
import { PLACEHOLDER_STYLES } from '../../core/placeholder-style.ts'
import { RULE_ACTIONS } from '../../core/rule-action.ts'
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
} from '../../core/schema-builders.ts'
import { TEXT_PARTS } from '../../core/text-part.ts'
import { CHECKSUMS } from '../../detect/pii/pattern-checksums.ts'
import { KEY_STATES } from '../../keys/key-record.ts'
import { RULE_TYPE_NAMES } from '../../policy/rule-types.ts'
import { CONDITION_FIELDS } from '../../policy/tool-conditions.ts'
import { VALUE_FIELDS } from '../../policy/value-fields.ts'
import { RULE_SCHEMA } from '../../rules/schema.ts'

const usd = (unit: string): JsonObject => ({ type: 'number', minimum: 0, description: `USD ${unit}.` })

const TOKEN_PRICES = {
  input: usd('for a million tokens of the prompt'),
  cached_input: usd('for a million tokens of the prompt that the provider had in its cache'),
  cache_write: usd('for a million tokens of the prompt that the provider wrote into its cache'),
  cache_write_1h: usd('for a million tokens of the prompt that it wrote into its cache for an hour'),
  audio_input: usd('for a million tokens of sound in the prompt'),
  output: usd('for a million tokens of the answer'),
  reasoning: usd('for a million tokens of the answer that the model did not show'),
  audio_output: usd('for a million tokens of sound in the answer'),
} satisfies Record<string, JsonObject>

const TIER_PRICES = {
  ...TOKEN_PRICES,
  above: orNull(
    object({ tokens: whole('Tokens of the prompt above which these prices apply.', 1), ...TOKEN_PRICES }),
  ),
} satisfies Record<string, JsonObject>

const SESSION = {
  name: text('Name of the administrator who is signed in.'),
  role: choice('What the administrator may do. Each role includes those before it.', ...ADMIN_ROLES),
  via: choice('How the administrator signed in: with a token, or by single sign-on.', ...SIGN_IN_METHODS),
  expires_at: time('When the session ends.'),
  user: { ...text('The same as `name`.'), deprecated: true },
} satisfies Record<string, JsonObject>
const LISTED_SESSION = {
  id: text('Id of the session, which does not open it.'),
  created_at: time('When the administrator signed in.'),
  ...SESSION,
}

const RULE_DECLARATION = {
  name: text('Unique among all rules.'),
  type: choice(RULE_SCHEMA.properties.type.description, ...RULE_TYPE_NAMES),
  pattern: {
    anyOf: [text(RULE_SCHEMA.properties.pattern.description), list(text('One item of a list.'))],
  },
  arguments: list(
    object({
      path: text(RULE_SCHEMA.properties.arguments.items.properties.path.description),
      pattern: text(RULE_SCHEMA.properties.arguments.items.properties.pattern.description),
    }),
  ),
  after: list(text('Glob of tools.')),
  afterInjection: { type: 'number', description: RULE_SCHEMA.properties.afterInjection.description },
  per: text(RULE_SCHEMA.properties.per.description),
  kind: text(RULE_SCHEMA.properties.kind.description),
  context: list(text(RULE_SCHEMA.properties.context.description)),
  checksum: choice(RULE_SCHEMA.properties.checksum.description, ...CHECKSUMS),
  except: list(text(RULE_SCHEMA.properties.except.description)),
  placeholder: text(RULE_SCHEMA.properties.placeholder.description),
  placeholders: choice(RULE_SCHEMA.properties.placeholders.description, ...PLACEHOLDER_STYLES),
  action: choice(RULE_SCHEMA.properties.action.description, ...RULE_ACTIONS),
  restore: flag(RULE_SCHEMA.properties.restore.description),
  enabled: flag('Whether the rule is in force.'),
  description: text('Description for people.'),
  match: {
    type: 'object',
    description: 'Calls that the rule applies to; all when left out.',
    properties: {
      models: list(text('Glob over model names.')),
      keys: list(text('Glob over key names.')),
      labels: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Labels of the key, each with this value.',
      },
      direction: choice('Prompts, answers or both.', 'request', 'response', 'both'),
      apis: list(choice('An API that is called.', ...API_NAMES)),
      parts: list(choice('A part of a call whose texts the rule looks at.', ...TEXT_PARTS)),
    },
  },
} satisfies Record<string, JsonObject>

/** Fields that a rule may leave out. */
const OPTIONAL_OF_RULE: readonly string[] = [
  ...CONDITION_FIELDS,
  ...VALUE_FIELDS,
  ...['per', 'placeholders', 'action', 'restore', 'description', 'match'],
]

/** Terms of a key. Missing ones change nothing in a request, and null removes one. */
const KEY_TERMS: Record<string, JsonObject> = {
  models: orNull(list(text(TERM_SCHEMAS.models.description))),
  expires_at: orNull(time(TERM_SCHEMAS.expiresAt.description)),
  owner: orNull(text(TERM_SCHEMAS.owner.description)),
  labels: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: TERM_SCHEMAS.labels.description,
  },
  capture: orNull(choice(TERM_SCHEMAS.capture.description, ...TERM_SCHEMAS.capture.enum)),
  max_parallel: orNull(whole(TERM_SCHEMAS.maxParallel.description, 1)),
}

const FILE_PROBLEM = object({
  file: text('Rule file or price file.'),
  line: whole('Line in the file; 0 for the whole file.'),
  column: whole('Column in the line.'),
  path: text('JSON path of the value.'),
  message: text('What is wrong.'),
  text: text('File, position, path and message in one line.'),
})

export const MANAGEMENT_SCHEMAS: Record<string, JsonObject> = {
  UpstreamError: {
    description: "The upstream's own answer, scanned. Any JSON, usually an object with `error`.",
  },
  Error: object({
    error: object(
      {
        message: text('Message for people: what is wrong and what to do.'),
        type: choice('Class of the error.', ...new Set(Object.values(ERRORS).map(({ type }) => type))),
        param: orNull(text('Path of the field that is wrong.')),
        code: orNull(choice('Stable code for programs; null as at the provider.', ...Object.keys(ERRORS))),
        rule_id: text('Id of the rule that blocked.'),
        rule_name: text('Name of the rule that blocked.'),
      },
      ['rule_id', 'rule_name'],
    ),
  }),
  Session: object(SESSION),
  EndedSession: object(LISTED_SESSION),
  Sessions: object({
    sessions: list(object({ ...LISTED_SESSION, current: flag('The session of this request.') })),
    total: whole('Number of sessions.'),
  }),
  SignInMethods: object({
    token: flag('Whether an administrator can sign in with a token.'),
    oidc: flag('Whether people can sign in by single sign-on: GET /api/v1/session/oidc.'),
    session: orNull(object(SESSION)),
  }),
  SignedOut: object({ signed_out: flag('Always true.') }),
  NewJoinToken: object({
    token: {
      type: 'string',
      pattern: '^sgjoin_[0-9A-Za-z_-]{43}$',
      description: 'The join token, for one sidecar. No later answer contains it.',
    },
  }),
  JoinedSidecar: object({ sidecar: text('Id of the sidecar, the `sub` of its tokens.') }),
  NewKey: object({
    id: text('UUIDv7.'),
    key: {
      type: 'string',
      pattern: '^sgate_live_[0-9A-Za-z]{49}$',
      description: 'The API key. No later answer contains it.',
    },
    name: text('Name of the key.'),
    created_at: time('When the key was created.'),
    replaces: orNull(text('Id of the key that it replaces; null for none.')),
    ...KEY_TERMS,
  }),
  Key: object(
    {
      id: text('Id of the key.'),
      name: text('Name of the key.'),
      prefix: orNull(text('Public part of the key; null for keys of the configuration.')),
      created_at: orNull(time('When the key was created; null for keys of the configuration.')),
      last_used_at: orNull(time('When the key was last accepted, to the minute.')),
      revoked_at: orNull(time('When the key was revoked; null while it is active.')),
      state: choice('Whether the key is accepted.', ...KEY_STATES),
      source: choice(
        'Created through the API, declared in the configuration file, or sent by a hub.',
        'api',
        'file',
        'hub',
      ),
      replaces: orNull(text('Id of the key that it replaces; null for none.')),
      replaced_by: text('Id of the key that replaces it; left out without one, and in answers to changes.'),
      ...KEY_TERMS,
    },
    ['replaced_by'],
  ),
  RevokedKey: {
    allOf: [
      ref('Key'),
      object(
        {
          working_predecessors: list(ref('Key')),
        },
        ['working_predecessors'],
      ),
    ],
    description:
      '`working_predecessors` are keys that it replaced and that still work; left out without any. `revoke_predecessor=true` revokes them as well.',
  },
  KeyDetail: {
    allOf: [ref('Key'), object({ effective: orNull(ref('EffectiveTerms')) })],
    description: '`effective` is null at a hub, which decides on no calls.',
  },
  Keys: object({
    keys: list(ref('Key')),
    total: whole('Number of matching keys on all pages.'),
    next: orNull(text('`cursor` of the next page; null on the last.')),
  }),
  RuleDeclaration: object(
    {
      ...RULE_DECLARATION,
      pattern: { ...RULE_DECLARATION.pattern, default: '' },
      enabled: { ...RULE_DECLARATION.enabled, default: true },
      namespaces: list(text('Glob of a namespace whose sidecars get the rule; only at a hub.')),
    },
    ['pattern', 'enabled', 'namespaces', ...OPTIONAL_OF_RULE],
  ),
  Rule: object(
    {
      id: text('UUIDv5 of the name for file rules, UUIDv7 for others.'),
      ...RULE_DECLARATION,
      source: object(
        {
          kind: choice(
            'Where the rule is declared: at a gateway with a hub also there.',
            'file',
            'api',
            'hub',
          ),
          path: text('Rule file.'),
          line: whole('Line in the file.', 1),
        },
        ['path', 'line'],
      ),
      declared_enabled: flag('Value of `enabled` in the declaration.'),
      override: orNull(
        object({
          reason: text('Reason given.'),
          expires_at: orNull(time('When the override expires; null for never.')),
        }),
      ),
      namespaces: list(text('Glob of a namespace whose sidecars get the rule; only at a hub.')),
      created_at: time('When the rule was first loaded or created.'),
      updated_at: time('When the rule last changed.'),
    },
    ['namespaces', ...OPTIONAL_OF_RULE],
  ),
  Rules: object({
    rules: list(ref('Rule')),
    total: whole('Number of rules.'),
    revision: text('Revision of the rule set in force.'),
    declared_revision: text(
      'Revision of the rules in files and of a hub alone. It differs from `revision` when the API has changed rules.',
    ),
    hidden: {
      ...list(ref('Rule')),
      description: 'Own rules that are not in force, because the hub has rules of the same names.',
    },
    errors: list(ref('RuleProblem')),
  }),
  RuleRevision: object({
    revision: text('Revision, as `policy_revision` of a usage entry names it.'),
    first_seen_at: time('When the rule set was first in force.'),
    rules: list(object({ id: text('Id of the rule.'), ...RULE_DECLARATION }, OPTIONAL_OF_RULE)),
  }),
  RuleHistory: object({
    versions: {
      ...list(
        object({
          revision: text('Revision of the first rule set with it.'),
          first_seen_at: time('When that rule set was first in force.'),
          rule: orNull(object({ id: text('Id of the rule.'), ...RULE_DECLARATION }, OPTIONAL_OF_RULE)),
        }),
      ),
      description: 'The newest 200. `rule` is null where a rule set does not have it.',
    },
  }),
  RuleProblem: FILE_PROBLEM,
  Prices: object({
    revision: orNull(
      text(
        'SHA-256 of the text of the price file, hexadecimal, or of both revisions with prices of a hub; null without prices in the configuration and without a hub.',
      ),
    ),
    prices: list(
      object({
        model: text('Glob over the names of models. The first one that matches wins.'),
        ...TIER_PRICES,
        tiers: {
          type: 'object',
          additionalProperties: object(TIER_PRICES),
          description: 'Prices of calls whose answer names a service tier, by its name.',
        },
        request: usd('for each call'),
        image: usd('for each image of the prompt'),
      }),
    ),
    problems: {
      ...list(FILE_PROBLEM),
      description: 'Errors of the price file as it is; with any, an earlier version of it is in force.',
    },
  }),
}

const MODEL: JsonObject = { type: 'string', minLength: 1 }

export const BODY_SCHEMAS: Record<string, JsonObject> = {
  SignIn: object({ token: text('The token of an administrator.') }),
  JoinTokenFields: object({
    name: {
      ...short(1, 128),
      description:
        'Name of the sidecar: `web-1`, `namespace/web-1` or `cluster/namespace/web-1`. Without one the namespace is `default`.',
    },
    ttl_seconds: { ...bounded(60, 7 * 86_400), description: 'Seconds for which the token can be used.' },
  }),
  SidecarJoin: object({
    token: text('The join token.'),
    public_key: text('Public key of the sidecar: Ed25519, SPKI, PEM.'),
  }),
  KeyFields: object({ name: short(1, 128), ...KEY_TERMS }, Object.keys(KEY_TERMS)),
  KeyTerms: object(KEY_TERMS, Object.keys(KEY_TERMS)),
  KeyRotation: object({
    grace_seconds: {
      ...bounded(0, 30 * 86_400),
      description: 'Seconds for which the old key still works; 0 for none.',
    },
  }),
  RuleChange: object(
    {
      enabled: flag('Whether the rule is to be in force.'),
      reason: { type: 'string', maxLength: 500 },
      ttl_seconds: bounded(1, 31_536_000),
    },
    ['reason', 'ttl_seconds'],
  ),
  TriedRule: object(
    {
      rule: { ...ref('RuleDeclaration'), description: 'The rule. It is tried as if it were enabled.' },
      calls: { ...bounded(1, 500, 100), description: 'Newest calls to try it against.' },
    },
    ['calls'],
  ),
  EraseSelection: {
    description: 'Exactly one of the four.',
    oneOf: [
      object({ request_id: text('The call with this usage entry.') }),
      object({ key_id: text('All calls with this API key.') }),
      object({
        user: text(
          'All calls for this end user, as the client names the user, or the hash in `user` of an entry.',
        ),
      }),
      object({
        before: time('All calls that arrived before this time, which is at most a day from now.'),
      }),
    ],
  },
  ...Object.fromEntries(APIS.map(({ document: { request } }) => [request.name, request.schema])),
  EvaluatedRequest: object(
    {
      model: MODEL,
      api: choice('API of the request.', ...APIS.map(({ name }) => name)),
      key_name: text('Name of a key.'),
      key_labels: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Labels of the key.',
      },
    },
    ['model', 'api', 'key_name', 'key_labels'],
  ),
}
