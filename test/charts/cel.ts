// Evaluates the CEL of admission policies on JSON. Like the API server, it turns built objects
// into JSON, requires type names to match field paths, and requires one type for the values of a
// list or map.

import { type CelInput, celEnv, celMap, isCelError, isCelList, isCelMap, parse, plan } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import type { KubernetesObject } from './helm.ts'

type Expression = Exclude<ReturnType<typeof parse>['expr'], undefined>

const ENVIRONMENT = celEnv({ funcs: strings })

/** Evaluates an expression. @throws the error that CEL reports */
export function evaluate(text: string, variables: Readonly<Record<string, unknown>>): unknown {
  const parsed = parse(text)
  if (parsed.expr !== undefined) plain(parsed.expr)
  const bindings = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, toCel(value)]))
  const value = plan(ENVIRONMENT, parsed)(bindings)
  if (isCelError(value)) throw new Error(`${value.message} in ${text}`)
  return fromCel(value)
}

const toCel = (value: unknown): CelInput => {
  if (Array.isArray(value)) return value.map(toCel)
  if (typeof value === 'object' && value !== null) {
    return celMap(new Map(Object.entries(value).map(([key, child]) => [key, toCel(child)] as const)) as any)
  }
  return Number.isInteger(value) ? BigInt(value as number) : (value as CelInput)
}

const fromCel = (value: unknown): unknown => {
  if (isCelList(value)) return [...value].map(fromCel)
  if (isCelMap(value)) return Object.fromEntries([...value].map(([key, child]) => [key, fromCel(child)]))
  return typeof value === 'bigint' ? Number(value) : value
}

/** Turns object literals into map literals, in place: the evaluator knows no Kubernetes types. */
function plain(expression: Expression): void {
  for (const child of children(expression)) plain(child)
  const kind = expression.exprKind
  if (kind.case === 'listExpr') sameKind(kind.value.elements)
  if (kind.case !== 'structExpr') return
  const { messageName, entries } = kind.value
  for (const entry of entries) {
    if (entry.keyKind.case === 'mapKey') continue
    const field = entry.keyKind.value ?? ''
    if (messageName.startsWith('Object') && entry.value) checkTypes(entry.value, `${messageName}.${field}`)
    const id = entry.id
    entry.keyKind = {
      case: 'mapKey',
      value: { ...expression, id, exprKind: { case: 'constExpr', value: text(field) } } as Expression,
    }
  }
  if (messageName === '') sameKind(entries.flatMap(({ value }) => value ?? []))
  built.set(expression, messageName)
  kind.value.messageName = ''
}

/** Type names of the literals that `plain` has converted. */
const built = new WeakMap<Expression, string>()

const text = (value: string) => ({
  $typeName: 'cel.expr.Constant' as const,
  constantKind: { case: 'stringValue' as const, value },
})

/** Does what CheckTypeNamesMatchFieldPathNames of k8s.io/apiserver/pkg/cel/mutation does. */
function checkTypes(expression: Expression, path: string): void {
  const kind = expression.exprKind
  const name = built.get(expression)
  if (name !== undefined && name !== '' && name !== path)
    throw new Error(`unexpected type name ${name}, expected ${path}`)
  if (kind.case === 'listExpr') for (const element of kind.value.elements) checkTypes(element, path)
}

/** Does what HomogeneousAggregateLiterals of cel-go does, for constants only. */
function sameKind(expressions: readonly Expression[]): void {
  const kinds = new Set(
    expressions.flatMap(({ exprKind }) =>
      exprKind.case === 'constExpr' ? (exprKind.value.constantKind.case ?? []) : [],
    ),
  )
  if (kinds.size > 1) throw new Error(`values of several types in one list or map: ${[...kinds].join(', ')}`)
}

function children({ exprKind: kind }: Expression): Expression[] {
  switch (kind.case) {
    case 'callExpr':
      return [kind.value.target, ...kind.value.args].filter((one) => one !== undefined)
    case 'listExpr':
      return kind.value.elements
    case 'structExpr':
      return kind.value.entries.flatMap(({ value, keyKind }) =>
        [keyKind.case === 'mapKey' ? keyKind.value : undefined, value].filter((one) => one !== undefined),
      )
    case 'selectExpr':
      return kind.value.operand === undefined ? [] : [kind.value.operand]
    case 'comprehensionExpr': {
      const { iterRange, accuInit, loopCondition, loopStep, result } = kind.value
      return [iterRange, accuInit, loopCondition, loopStep, result].filter((one) => one !== undefined)
    }
    default:
      return []
  }
}

interface AdmissionInput {
  readonly object: any
  readonly oldObject?: any
  readonly params: any
}

function bind(input: AdmissionInput): Record<string, unknown> {
  const operation = input.oldObject === undefined ? 'CREATE' : 'UPDATE'
  return { ...input, oldObject: input.oldObject ?? null, request: { operation }, variables: {} }
}

function matches(policy: KubernetesObject, bindings: Record<string, unknown>): boolean {
  const conditions: { expression: string }[] = policy['spec'].matchConditions ?? []
  return conditions.every(({ expression }) => evaluate(expression, bindings))
}

function computeVariables(policy: KubernetesObject, bindings: Record<string, unknown>): void {
  for (const { name, expression } of policy['spec'].variables ?? []) {
    bindings['variables'] = { ...(bindings['variables'] as object), [name]: evaluate(expression, bindings) }
  }
}

/** Applies a MutatingAdmissionPolicy to a Pod; ignores label and namespace selectors. */
export function mutate(policy: KubernetesObject, input: AdmissionInput): any {
  const bindings = bind(input)
  if (!matches(policy, bindings)) return input.object
  let object = structuredClone(input.object)
  for (const { jsonPatch } of policy['spec'].mutations) {
    bindings['object'] = object
    computeVariables(policy, bindings)
    object = applyPatch(object, evaluate(jsonPatch.expression, bindings) as Operation[])
  }
  return object
}

/** Messages of the validations that refuse the Pod; empty if it is admitted. */
export function refusals(policy: KubernetesObject, input: AdmissionInput): string[] {
  const bindings = bind(input)
  if (!matches(policy, bindings)) return []
  computeVariables(policy, bindings)
  return policy['spec'].validations
    .filter(({ expression }: any) => evaluate(expression, bindings) !== true)
    .map(({ message, messageExpression }: any) =>
      messageExpression === undefined ? message : evaluate(messageExpression, bindings),
    )
}

interface Operation {
  readonly op: string
  readonly path: string
  readonly value: unknown
}

/** Applies the `add` operations of a JSON Patch (RFC 6902 §4.1). */
function applyPatch(object: any, operations: readonly Operation[]): any {
  const copy = structuredClone(object)
  for (const { op, path, value } of operations) {
    const keys = path.split('/').slice(1)
    const last = keys.pop() ?? ''
    const parent = keys.reduce((node, key) => node[key], copy)
    if (op !== 'add' || parent === undefined) throw new Error(`cannot ${op} ${path}`)
    if (!Array.isArray(parent)) parent[last] = value
    else if (last === '-') parent.push(value)
    else parent.splice(Number(last), 0, value)
  }
  return copy
}
