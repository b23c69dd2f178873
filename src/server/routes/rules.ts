// Policy rules over REST: lists all, changes those made through the API, sets overrides, and runs
// dry runs.

import { GatewayError } from '../../core/errors.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { formatProblem } from '../../core/problem.ts'
import { isoTime, isoTimeOrNull } from '../../core/time.ts'
import { declaredRule } from '../../policy/declared-rule.ts'
import type { RuleEditor } from '../../rules/editor.ts'
import type { EffectiveRule, EffectiveRules } from '../../rules/effective.ts'
import { RULE_SCHEMA } from '../../rules/schema.ts'
import type { PolicyStore } from '../../store/rules/policies.ts'
import { type ApiRoute, ok, readFields } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

const FIELDS = Object.keys(RULE_SCHEMA.properties)
/** Names of the fields of a new rule at a hub. */
export const HUB_RULE_FIELDS = [...FIELDS, 'namespaces']

/** The pipeline's dry run: judges a request body without forwarding or logging it. */
export type Evaluate = (body: JsonValue) => Promise<JsonObject>

/** The part of the rules in force that routes read. */
export type RulesView = Pick<
  EffectiveRules,
  'list' | 'drift' | 'hidden' | 'revision' | 'declaredRevision' | 'errors' | 'toYaml'
>

/** What a gateway answers about rules besides the routes of a hub. */
export function gatewayRuleRoutes(
  policies: Pick<PolicyStore, 'find' | 'versionsOf'>,
  evaluate: Evaluate,
): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/rules/:id/history',
      access: 'viewer',
      operation: operation(
        'Lists what a rule said in the stored rule sets, newest first. `about` of GET /api/v1/audit/changes has who changed it.',
        { answer: 'RuleHistory', errors: [400, 404] },
      ),
      async answer({ search, params }) {
        new QueryString(search, [])
        const versions = await policies.versionsOf(params['id'] ?? '')
        if (versions.length === 0)
          throw new GatewayError('not_found', 'No stored rule set has a rule with this id.')
        return ok({
          versions: versions.map(({ revision, firstSeenAt, rule }) => ({
            ...{ revision, first_seen_at: firstSeenAt, rule },
          })),
        })
      },
    },
    {
      method: 'GET',
      path: '/api/v1/rules/revisions/:revision',
      access: 'viewer',
      operation: operation('Returns the rules of a revision that is or was in force, as declared.', {
        answer: 'RuleRevision',
        errors: [404],
      }),
      async answer(request) {
        const found = policies.find(request.params['revision'] ?? '')
        if (found === null)
          throw new GatewayError(
            'not_found',
            'No rule set with this revision was in force; policy_revision of a usage entry names one.',
          )
        return ok({
          revision: found.revision,
          first_seen_at: found.firstSeenAt,
          rules: [...found.rules],
        })
      },
    },
    {
      method: 'POST',
      path: '/api/v1/rules/evaluate',
      access: 'viewer',
      operation: operation(
        'Evaluates a request without forwarding it. `api` (chat by default) and `key_name` may be given with its fields.',
        { answer: 'Evaluation', body: 'EvaluatedRequest', errors: [503] },
      ),
      takesPrompt: true,
      async answer(request) {
        return ok(await evaluate(await request.body()))
      },
    },
  ]
}

export function ruleRoutes(
  rules: RulesView,
  editor: Pick<RuleEditor, 'create' | 'setEnabled' | 'delete'>,
  fieldNames: readonly string[] = FIELDS,
): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/rules',
      access: 'viewer',
      operation: operation('Lists the rules. With format=yaml, returns a rule file ready to commit.', {
        answer: 'Rules',
        textType: 'application/yaml',
        query: {
          format: { type: 'string', enum: ['json', 'yaml'], default: 'json' },
          drift: {
            type: 'boolean',
            default: false,
            description:
              'Only rules that differ from the files: overridden ones and those made through the API.',
          },
        },
        errors: [400],
      }),
      async answer(request) {
        const query = new QueryString(request.search, ['format', 'drift'])
        const format = query.text('format')
        const drifted = query.boolean('drift') === true
        if (format === 'yaml') {
          return { status: 200, body: null, text: { type: 'application/yaml', content: rules.toYaml() } }
        }
        if (format !== null && format !== 'json') {
          throw new GatewayError('invalid_parameter', 'format must be json or yaml.', { param: 'format' })
        }
        const list = (drifted ? rules.drift() : rules.list()).map(describe)
        return ok({
          rules: list,
          total: list.length,
          revision: rules.revision,
          declared_revision: rules.declaredRevision,
          hidden: rules.hidden.map(describe),
          errors: rules.errors().map((problem) => ({ ...problem, text: formatProblem(problem) })),
        })
      },
    },
    {
      method: 'POST',
      path: '/api/v1/rules',
      access: 'editor',
      operation: operation('Creates a rule owned by the API.', {
        statuses: [201],
        answer: 'Rule',
        body: 'RuleDeclaration',
        errors: [409, 503],
      }),
      async answer(request) {
        const fields = await readFields(request, fieldNames)
        return { status: 201, body: describe(await editor.create(fields, request.session.name)) }
      },
    },
    {
      method: 'PATCH',
      path: '/api/v1/rules/:id',
      access: 'editor',
      operation: operation('Switches a rule on or off. A file rule gets an override.', {
        answer: 'Rule',
        body: 'RuleChange',
        errors: [404, 409, 503],
      }),
      async answer(request) {
        const fields = await readFields(request, ['enabled', 'reason', 'ttl_seconds'])
        const change = readChange(fields)
        const { name } = request.session
        const id = request.params['id'] ?? ''
        return ok(describe(await editor.setEnabled(id, change.enabled, change, name)))
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/rules/:id',
      access: 'editor',
      operation: operation('Deletes a rule owned by the API.', {
        answer: 'Rule',
        errors: [404, 409, 503],
      }),
      async answer(request) {
        return ok(describe(await editor.delete(request.params['id'] ?? '', request.session.name)))
      },
    },
  ]
}

const MAXIMUM_REASON_CHARACTERS = 500
/** One year. A longer override belongs in the rule file. */
const MAXIMUM_TTL_SECONDS = 365 * 86_400

function readChange(fields: JsonObject): { enabled: boolean; reason: string; ttlSeconds: number | null } {
  const { enabled, reason = '', ttl_seconds: ttl = null } = fields
  const invalid = (param: string, message: string) => new GatewayError('invalid_body', message, { param })
  if (enabled === undefined) {
    throw new GatewayError('missing_required_parameter', 'enabled is required.', { param: 'enabled' })
  }
  if (typeof enabled !== 'boolean') throw invalid('enabled', 'enabled must be true or false.')
  if (typeof reason !== 'string' || reason.length > MAXIMUM_REASON_CHARACTERS) {
    throw invalid('reason', `reason must be a string of at most ${MAXIMUM_REASON_CHARACTERS} characters.`)
  }
  if (ttl !== null && !(Number.isInteger(ttl) && Number(ttl) >= 1 && Number(ttl) <= MAXIMUM_TTL_SECONDS)) {
    throw invalid('ttl_seconds', `ttl_seconds must be a whole number from 1 to ${MAXIMUM_TTL_SECONDS}.`)
  }
  return { enabled, reason, ttlSeconds: ttl === null ? null : Number(ttl) }
}

function describe(rule: EffectiveRule): JsonObject {
  const { source, override, namespaces } = rule
  return {
    ...declaredRule(rule),
    source: { ...source },
    ...(namespaces === undefined ? {} : { namespaces: [...namespaces] }),
    declared_enabled: rule.declaredEnabled,
    override:
      override === null ? null : { reason: override.reason, expires_at: isoTimeOrNull(override.expiresAtMs) },
    created_at: isoTime(rule.createdAtMs),
    updated_at: isoTime(rule.updatedAtMs),
  }
}
