// Evaluates the admission policies' CEL on Pods: injection yields the library chart's container,
// and only the gateway may use the provider's Secret.

import t from 'tap'
import { evaluate, mutate, refusals } from './cel.ts'
import { type KubernetesObject, pick, prepareCharts } from './helm.ts'
import { missing } from './tools.ts'
import { restrictedViolations, schemaErrors } from './types.ts'

const RESTRICTED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}

const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount'

const pod = (spec: object): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'app', labels: { 'sidegate.dev/inject': 'true' } },
  spec: { containers: [{ name: 'app', image: 'app', securityContext: RESTRICTED }], ...spec },
})

t.test('the evaluator refuses what the API server refuses', async (t) => {
  t.same(evaluate('Object.spec{a: [Object.spec.a{b: 1}]}', {}), { a: [{ b: 1 }] })
  t.throws(() => evaluate('Object.spec{a: [Object.spec.wrong{b: 1}]}', {}), /unexpected type name/)
  t.throws(() => evaluate('{"a": 1, "b": "c"}', {}), /several types/)
  t.throws(() => evaluate('object.missing == 1', { object: {} }), /missing/)
})

t.test(
  'the admission policies inject the sidecar and guard the Secret',
  { skip: missing('helm') },
  async (t) => {
    const charts = prepareCharts()
    t.teardown(charts.remove)
    const rendered = charts.render(
      'sidegate',
      '--kube-version',
      '1.36',
      '-f',
      'sidegate/ci/injection-values.yaml',
    )
    const injection = pick(rendered, 'MutatingAdmissionPolicy')
    const validation = pick(rendered, 'ValidatingAdmissionPolicy')
    const params = pick(rendered, 'ConfigMap', 'sidegate-injection')
    const library = pick(charts.render('examples/app'), 'Deployment')['spec'].template.spec

    await t.test('every expression is a single line, as the API requires', async (t) => {
      const expressions = (node: any): string[] =>
        typeof node !== 'object' || node === null
          ? []
          : Object.entries(node).flatMap(([key, child]) =>
              /^(e|messageE)xpression$/.test(key) ? [child as string] : expressions(child),
            )
      const all = [...expressions(injection), ...expressions(validation)]
      t.ok(all.length > 15)
      for (const expression of all) t.notMatch(expression, /\n/)
    })

    await t.test('a namespace without parameters admits no Pod', async (t) => {
      for (const kind of ['MutatingAdmissionPolicyBinding', 'ValidatingAdmissionPolicyBinding']) {
        const { spec } = pick(rendered, kind)
        t.match(spec, { paramRef: { name: params.metadata.name, parameterNotFoundAction: 'Deny' } }, kind)
        t.equal(spec.paramRef.namespace, undefined, 'parameters come from the Pod’s namespace')
      }
      t.equal(injection['spec'].failurePolicy, 'Fail')
    })

    await t.test('injection adds the library’s container first and keeps the rest', async (t) => {
      const env = [{ name: 'A', value: 'b' }]
      const table: Record<string, object> = {
        'a bare Pod': {},
        'with init containers and volumes': {
          initContainers: [{ name: 'migrate', image: 'app', securityContext: RESTRICTED }],
          volumes: [{ name: 'own', emptyDir: {} }],
        },
        'with an environment': {
          containers: [
            { name: 'a', image: 'a', env, securityContext: RESTRICTED },
            { name: 'b', image: 'b', env: [], securityContext: RESTRICTED },
            { name: 'c', image: 'c', securityContext: RESTRICTED },
          ],
        },
        'with empty lists': { initContainers: [], volumes: [] },
      }
      for (const [name, spec] of Object.entries(table)) {
        const before = pod(spec)
        const after = mutate(injection, { object: before, params })
        t.same(
          after.spec.initContainers[0],
          library.initContainers[0],
          `${name}: the library's container, first`,
        )
        const own = before['spec'].volumes ?? []
        t.same(after.spec.volumes, [...own, ...library.volumes], `${name}: the library's volumes`)
        t.same(after.spec.initContainers.slice(1), before['spec'].initContainers ?? [])
        for (const container of after.spec.containers) {
          t.same(container.env[0], { name: 'OPENAI_BASE_URL', value: 'http://127.0.0.1:8484/v1' })
        }
        t.equal(await schemaErrors(after), '', name)
        t.same(restrictedViolations(after.spec), [], `${name}: restricted`)
        t.same(mutate(injection, { object: after, params }), after, `${name}: a second pass changes nothing`)
        t.same(
          refusals(validation, { object: after, params }),
          [],
          `${name}: the validation accepts the result`,
        )
      }
      const own = [{ name: 'OPENAI_BASE_URL', value: 'http://elsewhere' }]
      const kept = mutate(injection, {
        object: pod({ containers: [{ name: 'a', image: 'a', env: own }] }),
        params,
      })
      t.same(kept.spec.containers[0].env, own, 'an existing base URL is kept')
    })

    await t.test('injection follows the container’s values', async (t) => {
      const values = {
        data: { type: 'ephemeral', size: '4Gi', storageClassName: 'fast' },
        extraEnv: {
          TEXT: 'a "quoted" <é> \\ $(X)\n',
          NODE: { valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          COUNT: 3,
        },
        image: { registry: '', repository: 'sidegate' },
        resources: {
          requests: { cpu: 0.5, memory: 268_435_456 },
          limits: { cpu: 1, 'ephemeral-storage': null },
        },
        probes: { liveness: null },
      }
      const args = (key: string) => ['--set-json', `${key}=${JSON.stringify(values)}`]
      const policies = charts.render(
        'sidegate',
        '--kube-version',
        '1.36',
        '--set',
        'injection.enabled=true',
        ...args('container'),
      )
      const wanted = pick(charts.render('examples/app', ...args('sidegate')), 'Deployment')['spec'].template
        .spec
      const { spec } = mutate(pick(policies, 'MutatingAdmissionPolicy'), { object: pod({}), params })
      t.equal(spec.initContainers[0].env.length, 4)
      t.equal(spec.initContainers[0].livenessProbe, undefined)
      t.same(spec.initContainers[0].resources.requests.cpu, '0.5')
      t.same(spec.initContainers, wanted.initContainers)
      t.same(spec.volumes, wanted.volumes)
      t.equal(spec.volumes[4].ephemeral.volumeClaimTemplate.spec.resources.requests.storage, '4Gi')
    })

    await t.test('injected names come from the namespace’s parameters', async (t) => {
      const data = {
        configMap: 'c',
        rulesConfigMap: 'r',
        pricesConfigMap: 'p',
        upstreamSecret: 'u',
        adminSecret: 'a',
      }
      const { spec } = mutate(injection, { object: pod({}), params: { data } })
      t.same(
        spec.volumes.map(
          (volume: any) => volume.configMap?.name ?? volume.projected?.sources.map((s: any) => s.secret.name),
        ),
        ['c', 'r', 'p', ['u', 'a'], undefined],
      )
      const { pricesConfigMap: _, ...older } = data
      const { spec: before } = mutate(injection, { object: pod({}), params: { data: older } })
      t.equal(before.volumes[2].configMap.name, 'sidegate-prices', 'parameters of a release without prices')
    })

    await t.test('only an unchanged gateway container may use the provider’s Secret', async (t) => {
      const [gateway] = library.initContainers
      const { volumes } = library
      const [standalone] = pick(charts.render('sidegate', '--set', 'mode=standalone'), 'Deployment')['spec']
        .template.spec.containers
      t.ok(standalone.lifecycle)
      const app = { name: 'app', image: 'app' }
      const mounting = { ...app, volumeMounts: [{ name: 'sidegate-secrets', mountPath: '/s' }] }
      const good = { initContainers: [gateway], containers: [app], volumes }
      const sidecar = (change: object) => ({ ...good, initContainers: [{ ...gateway, ...change }] })
      const secretRef = { valueFrom: { secretKeyRef: { name: 'sidegate-upstream', key: 'api-key' } } }
      const secretMounts = gateway.volumeMounts.filter(({ name }: any) => name === 'sidegate-secrets')
      const table: [string, object, RegExp | null][] = [
        ['a Pod without the Secret', { containers: [app] }, null],
        ['the sidecar', good, null],
        ['the gateway as a plain container', { containers: [gateway, app], volumes }, null],
        ['another Secret', { containers: [{ ...app, envFrom: [{ secretRef: { name: 'other' } }] }] }, null],
        ['the sidecar pinned by digest', sidecar({ image: 'sidegate@sha256:00' }), null],
        ['the app mounts it too', { ...good, containers: [mounting] }, /also used by: app/],
        ['no sidecar', { containers: [mounting], volumes }, /also used by: app/],
        ['a volume nobody mounts', { containers: [app], volumes }, /must carry the Sidegate container/],
        [
          'a plain Secret volume',
          {
            containers: [{ ...app, volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
            volumes: [{ name: 'v', secret: { secretName: 'sidegate-upstream' } }],
          },
          /also used by: app/,
        ],
        [
          'an environment variable',
          { containers: [{ ...app, env: [{ name: 'K', ...secretRef }] }] },
          /also used by: app/,
        ],
        [
          'a whole environment',
          { ...good, containers: [{ ...app, envFrom: [{ secretRef: { name: 'sidegate-upstream' } }] }] },
          /also used by: app/,
        ],
        [
          'an init container',
          { ...good, initContainers: [gateway, { ...mounting, name: 'init' }] },
          /also used by: init/,
        ],
        ['another image under the gateway’s name', sidecar({ image: 'evil:1' }), /also used by: sidegate/],
        [
          'an image whose name starts the same',
          sidecar({ image: 'sidegate-evil:1' }),
          /also used by: sidegate/,
        ],
        ['another command', sidecar({ command: ['cat'] }), /also used by: sidegate/],
        ['other arguments', sidecar({ args: ['keys', 'list'] }), /also used by: sidegate/],
        [
          'a hook',
          sidecar({ lifecycle: { postStart: { exec: { command: ['cat'] } } } }),
          /also used by: sidegate/,
        ],
        ['the standalone gateway', { containers: [standalone], volumes }, null],
        ...[{ exec: { command: ['cat'] } }, { httpGet: { port: 1 } }].map(
          (preStop): [string, object, RegExp] => [
            'another preStop hook',
            { containers: [{ ...standalone, lifecycle: { preStop } }], volumes },
            /also used by: sidegate/,
          ],
        ),
        [
          'a postStart hook in addition',
          {
            containers: [
              { ...standalone, lifecycle: { ...standalone.lifecycle, postStart: { sleep: { seconds: 1 } } } },
            ],
            volumes,
          },
          /also used by: sidegate/,
        ],
        [
          'a probe that executes',
          sidecar({ livenessProbe: { exec: { command: ['cat'] } } }),
          /also used by: sidegate/,
        ],
        [
          'an option for Node',
          sidecar({ env: [{ name: 'NODE_OPTIONS', value: '--import /x' }] }),
          /also used by: sidegate/,
        ],
        [
          'the instance name taken from the Secret, which would log it',
          sidecar({ env: [{ name: 'SIDEGATE_INSTANCE', ...secretRef }] }),
          /also used by: sidegate/,
        ],
        [
          'a mount over the program',
          sidecar({ volumeMounts: [...gateway.volumeMounts, { name: 'own', mountPath: '/app/dist' }] }),
          /also used by: sidegate/,
        ],
        [
          'a configuration from another volume',
          sidecar({ volumeMounts: [{ name: 'own', mountPath: '/etc/sidegate/config' }, ...secretMounts] }),
          /also used by: sidegate/,
        ],
        [
          'a subPath of a volume',
          sidecar({ volumeMounts: gateway.volumeMounts.map((one: object) => ({ ...one, subPath: 'x' })) }),
          /also used by: sidegate/,
        ],
        ['another working directory', sidecar({ workingDir: '/own' }), /also used by: sidegate/],
        [
          'a token that the platform mounts',
          sidecar({ volumeMounts: [...gateway.volumeMounts, { name: 't', mountPath: TOKEN }] }),
          null,
        ],
        [
          'a path that climbs out of the token folder',
          sidecar({
            volumeMounts: [...gateway.volumeMounts, { name: 't', mountPath: `${TOKEN}/../../app` }],
          }),
          /also used by: sidegate/,
        ],
        [
          'a shared process namespace',
          { ...good, shareProcessNamespace: true },
          /share its process namespace/,
        ],
        ['the host’s process namespace', { ...good, hostPID: true }, /share its process namespace/],
        [
          'another configuration',
          {
            ...good,
            volumes: volumes.map((one: any) =>
              one.name === 'sidegate-config' ? { ...one, configMap: { name: 'mine' } } : one,
            ),
          },
          /own configuration/,
        ],
        [
          'a debug container without the Secret',
          { ...good, ephemeralContainers: [{ name: 'd', image: 'd' }] },
          null,
        ],
        [
          'a debug container with the Secret',
          { ...good, ephemeralContainers: [{ ...mounting, name: 'd' }] },
          /debug container/,
        ],
        [
          'a debug container that targets the gateway',
          { ...good, ephemeralContainers: [{ name: 'd', image: 'd', targetContainerName: 'sidegate' }] },
          /debug container/,
        ],
      ]
      for (const [name, spec, expected] of table) {
        const found = refusals(validation, { object: pod(spec), params })
        if (expected === null) t.same(found, [], name)
        else t.match(found.join('\n'), expected, name)
      }
      const bad = pod({ containers: [mounting], volumes })
      const labelled = { ...bad, metadata: { ...bad.metadata, labels: { a: 'b' } } }
      t.same(
        refusals(validation, { object: labelled, oldObject: bad, params }),
        [],
        'labels of older Pods may change',
      )
      const evil = pod(sidecar({ image: 'evil:1' }))
      t.not(
        refusals(validation, { object: evil, oldObject: pod(good), params }).length,
        0,
        'images of running Pods may not change',
      )
    })

    await t.test(
      'the gateway may have the environment and mounts of the chart’s values and no others',
      async (t) => {
        const values = {
          image: { registry: '', repository: 'sidegate' },
          extraEnv: {
            NODE_OPTIONS: '--max-old-space-size=300',
            EMPTY: '',
            ZONE: { valueFrom: { configMapKeyRef: { name: 'zone', key: 'name', optional: true } } },
          },
          extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
          extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', subPath: 'a', readOnly: true }],
        }
        const [policies, app] = [
          charts.render(
            'sidegate',
            ...['--kube-version', '1.36', '--set', 'validation.enabled=true'],
            ...['--set-json', `container=${JSON.stringify(values)}`],
          ),
          charts.render('examples/app', '--set-json', `sidegate=${JSON.stringify(values)}`),
        ]
        const policy = pick(policies, 'ValidatingAdmissionPolicy')
        const { spec } = pick(app, 'Deployment')['spec'].template
        const found = (change: (gateway: any) => void) => {
          const changed = structuredClone(spec)
          change(changed.initContainers[0])
          return refusals(policy, { object: pod(changed), params }).join('\n')
        }
        const variable = (gateway: any, name: string) => gateway.env.find((one: any) => one.name === name)
        t.equal(
          found(() => {}),
          '',
          'the container as the library renders it is accepted',
        )
        t.equal(
          found((gateway) => {
            // The API server drops empty strings and adds defaults.
            delete variable(gateway, 'EMPTY').value
            variable(gateway, 'SIDEGATE_INSTANCE').valueFrom.fieldRef.apiVersion = 'v1'
          }),
          '',
          'the container as the API server stores it is accepted',
        )
        const changes: Record<string, (gateway: any) => void> = {
          'another text': (gateway) => (variable(gateway, 'NODE_OPTIONS').value = '--import=data:,'),
          'a text instead of none': (gateway) => (variable(gateway, 'EMPTY').value = 'x'),
          'another key': (gateway) => (variable(gateway, 'ZONE').valueFrom.configMapKeyRef.key = 'x'),
          'another source': (gateway) =>
            (variable(gateway, 'ZONE').valueFrom = { fieldRef: { fieldPath: 'x' } }),
          'another part': (gateway) => (gateway.volumeMounts.at(-1).subPath = 'b'),
          'another place': (gateway) => (gateway.volumeMounts.at(-1).mountPath = '/app'),
        }
        for (const [name, change] of Object.entries(changes))
          t.match(found(change), /also used by: sidegate/, name)
      },
    )

    await t.test('the standalone Deployment passes its own validation', async (t) => {
      const args = [
        '--kube-version',
        '1.36',
        '--set',
        'mode=standalone,validation.enabled=true',
        '-f',
        'sidegate/ci/validation-values.yaml',
      ]
      const standalone = charts.render('sidegate', ...args)
      const { spec } = pick(standalone, 'Deployment')['spec'].template
      const found = refusals(pick(standalone, 'ValidatingAdmissionPolicy'), {
        object: pod(spec),
        params: pick(standalone, 'ConfigMap', 'sidegate-injection'),
      })
      t.same(found, [])
    })
  },
)
