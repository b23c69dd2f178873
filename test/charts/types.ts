// Validates objects as an API server would: schemas of Kubernetes and of the Prometheus operator
// find wrong values, and their TypeScript types find unknown fields, which the schemas accept.

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import type { KubernetesObject } from './helm.ts'

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

/** Models of the kinds that the charts render. */
const MODULES: Readonly<Record<string, () => Promise<object>>> = {
  'kubernetes-models/v1/ConfigMap': () => import('kubernetes-models/v1/ConfigMap'),
  'kubernetes-models/v1/Pod': () => import('kubernetes-models/v1/Pod'),
  'kubernetes-models/v1/Service': () => import('kubernetes-models/v1/Service'),
  'kubernetes-models/v1/ServiceAccount': () => import('kubernetes-models/v1/ServiceAccount'),
  'kubernetes-models/apps/v1/Deployment': () => import('kubernetes-models/apps/v1/Deployment'),
  'kubernetes-models/batch/v1/CronJob': () => import('kubernetes-models/batch/v1/CronJob'),
  'kubernetes-models/batch/v1/Job': () => import('kubernetes-models/batch/v1/Job'),
  'kubernetes-models/policy/v1/PodDisruptionBudget': () =>
    import('kubernetes-models/policy/v1/PodDisruptionBudget'),
  'kubernetes-models/networking.k8s.io/v1/Ingress': () =>
    import('kubernetes-models/networking.k8s.io/v1/Ingress'),
  'kubernetes-models/networking.k8s.io/v1/NetworkPolicy': () =>
    import('kubernetes-models/networking.k8s.io/v1/NetworkPolicy'),
  'kubernetes-models/admissionregistration.k8s.io/v1/MutatingAdmissionPolicy': () =>
    import('kubernetes-models/admissionregistration.k8s.io/v1/MutatingAdmissionPolicy'),
  'kubernetes-models/admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding': () =>
    import('kubernetes-models/admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding'),
  'kubernetes-models/admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy': () =>
    import('kubernetes-models/admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy'),
  'kubernetes-models/admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding': () =>
    import('kubernetes-models/admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding'),
  '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor': () =>
    import('@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor'),
  '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule': () =>
    import('@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'),
  '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor': () =>
    import('@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor'),
}

const strict = (properties: object, required: readonly string[] = []) =>
  ({ type: 'object', additionalProperties: false, properties, required }) as const
const TEXT = { type: 'string', minLength: 1, maxLength: 253 }
const HOSTNAME = { ...TEXT, pattern: '^(\\*\\.)?[a-z0-9]([-.a-z0-9]*[a-z0-9])?$' }
const PORT = { type: 'integer', minimum: 1, maximum: 65535 }
const DURATION = { type: 'string', pattern: '^([0-9]{1,5}(h|m|s|ms)){1,4}$' }
const PATH = { type: 'string', maxLength: 1024, pattern: '^/(?!.*//)' }
const PATH_TYPE = { enum: ['Exact', 'PathPrefix', 'RegularExpression'] }

/** The part of `gateway.networking.k8s.io/v1` HTTPRoute that the chart writes. No package is needed for it. */
const httpRoute = new Ajv().compile(
  strict(
    {
      apiVersion: { const: 'gateway.networking.k8s.io/v1' },
      kind: { const: 'HTTPRoute' },
      metadata: { type: 'object' },
      spec: strict({
        parentRefs: {
          type: 'array',
          maxItems: 32,
          items: strict(
            {
              group: { type: 'string' },
              kind: TEXT,
              namespace: TEXT,
              name: TEXT,
              sectionName: TEXT,
              port: PORT,
            },
            ['name'],
          ),
        },
        hostnames: { type: 'array', maxItems: 16, items: HOSTNAME },
        rules: {
          type: 'array',
          minItems: 1,
          maxItems: 16,
          items: strict({
            matches: {
              type: 'array',
              maxItems: 64,
              items: strict({ path: strict({ type: PATH_TYPE, value: PATH }) }),
            },
            backendRefs: { type: 'array', maxItems: 16, items: strict({ name: TEXT, port: PORT }, ['name']) },
            timeouts: strict({ request: DURATION, backendRequest: DURATION }),
          }),
        },
      }),
    },
    ['apiVersion', 'kind', 'metadata', 'spec'],
  ),
)

const isRoute = ({ apiVersion }: KubernetesObject): boolean =>
  apiVersion.startsWith('gateway.networking.k8s.io/')

/** Shape of the packages' model classes. */
type Model = new (data: object) => { validate(): void }

function moduleOf({ apiVersion, kind }: KubernetesObject): string {
  const isOperator = apiVersion.startsWith('monitoring.coreos.com/')
  const name = isOperator ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'
  return `${name}/${apiVersion}/${kind}`
}

/** Validates the object's values against its schema; returns the errors, or an empty string. */
export async function schemaErrors(object: KubernetesObject): Promise<string> {
  if (isRoute(object)) {
    const found = httpRoute(object) ? [] : (httpRoute.errors ?? [])
    return found.map((error) => `HTTPRoute ${error.instancePath} ${error.message}`).join('; ')
  }
  const load = MODULES[moduleOf(object)]
  if (load === undefined) return `${moduleOf(object)} is not in the table of models`
  const { [object.kind]: Kind } = (await load()) as Record<string, Model>
  try {
    if (Kind !== undefined) new Kind(object).validate()
    return ''
  } catch (error) {
    return `${object.kind} ${object.metadata.name}: ${(error as Error).message}`
  }
}

/**
 * Checks the objects' fields with the compiler; returns its errors, or an empty string.
 * @param folder a temporary folder inside the project, so that the compiler finds the packages
 */
export function typeErrors(folder: string, objects: readonly KubernetesObject[]): Promise<string> {
  // The schema of routes refuses unknown fields itself.
  const typed = objects.filter((object) => !isRoute(object))
  const distinct = [...new Set(typed.map((object) => `${moduleOf(object)}\n${JSON.stringify(object)}`))]
  const modules = [...new Set(distinct.map((text) => text.slice(0, text.indexOf('\n'))))]
  const imports = modules.map(
    (name, index) => `import type { I${name.slice(name.lastIndexOf('/') + 1)} as T${index} } from '${name}'`,
  )
  const constants = distinct.map((text, index) => {
    const end = text.indexOf('\n')
    return `export const o${index}: T${modules.indexOf(text.slice(0, end))} = ${text.slice(end + 1)}`
  })
  writeFileSync(join(folder, 'objects.ts'), [...imports, ...constants].join('\n'))
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', skipLibCheck: true, types: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['objects.ts'] }))
  return new Promise((resolve) => {
    execFile('env', ['-u', 'NODE_OPTIONS', process.execPath, TSC, '-p', folder], (_error, stdout) =>
      resolve(stdout),
    )
  })
}

/** Violations of Pod Security *restricted* (pod-security-standards, v1.36) in a Pod's spec. */
export function restrictedViolations(spec: any): string[] {
  const violations: string[] = []
  const VOLUMES = [
    'configMap',
    'csi',
    'downwardAPI',
    'emptyDir',
    'ephemeral',
    'persistentVolumeClaim',
    'projected',
    'secret',
  ]
  for (const { name, ...source } of spec.volumes ?? []) {
    if (!Object.keys(source).every((kind) => VOLUMES.includes(kind))) violations.push(`volume ${name}`)
  }
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) if (spec[field] === true) violations.push(field)
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const own = container.securityContext ?? {}
    const either = (field: string) => own[field] ?? spec.securityContext?.[field]
    const add = (what: string) => violations.push(`${container.name}: ${what}`)
    if (own.allowPrivilegeEscalation !== false) add('allowPrivilegeEscalation')
    if (own.privileged === true) add('privileged')
    if (!own.capabilities?.drop?.includes('ALL') || own.capabilities.add !== undefined) add('capabilities')
    if (either('runAsNonRoot') !== true) add('runAsNonRoot')
    if (either('runAsUser') === 0) add('runAsUser')
    if (either('seccompProfile')?.type !== 'RuntimeDefault') add('seccompProfile')
    for (const port of container.ports ?? []) if (port.hostPort !== undefined) add('hostPort')
  }
  return violations
}
