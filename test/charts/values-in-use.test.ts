// What values of the charts do: those that are refused, and what others change in the objects.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { VERSION } from '../../src/core/version.ts'
import { pick, prepareCharts } from './helm.ts'
import { missing } from './tools.ts'

t.test('values change what they name, and bad ones are refused', { skip: missing('helm') }, async (t) => {
  const charts = prepareCharts()
  t.teardown(charts.remove)

  const isRequired = String.raw`image\.repository is required \(container\.image\.repository `
  const NO_IMAGE = new RegExp(
    `${isRequired}.*docker build -t \\S+/sidegate:${VERSION.replaceAll('.', '\\.')} \\.`,
    's',
  )

  await t.test('the charts name no image of their own', async (t) => {
    for (const chart of ['sidegate', 'sidegate-lib']) {
      const { stdout } = charts.helm('show', 'values', chart)
      t.notMatch(parse(stdout), { container: { image: { repository: /./ } } })
      t.notMatch(parse(stdout), { image: { repository: /./ } })
    }
    t.throws(() => charts.text('examples/app', '--set', 'sidegate.image.repository='), { message: NO_IMAGE })
  })

  await t.test('a bad value is refused with a message that names it', async (t) => {
    const table: [string[], RegExp][] = [
      [['mode=sidecars'], /mode/],
      [['replicas=3'], /additional properties 'replicas' not allowed/],
      [['config.upstrem.baseUrl=x'], /config.*additional properties 'upstrem' not allowed/s],
      [['config.upstream.baseUrl=openai'], /baseUrl/],
      [
        ['config.listen.gateway=0.0.0.0:1'],
        /'\/config\/listen': additional properties 'gateway' not allowed/,
      ],
      [['container.image.tagg=1'], /additional properties 'tagg' not allowed/],
      // The kubelet would report these only later, as InvalidImageName.
      [['container.image.registry=registry.example.com/'], /image\/registry/],
      [['container.image.registry=https://registry.example.com'], /image\/registry/],
      [['container.image.repository=sidegate:1.0.0'], /image\/repository/],
      [['container.image.repository=platform/sidegate/'], /image\/repository/],
      [['container.image.tag=main branch'], /image\/tag/],
      [['container.image.repository='], NO_IMAGE],
      [['container.image.repository=', 'mode=standalone'], NO_IMAGE],
      [['container.image.repository=', 'container.image.registry=registry.example.com'], NO_IMAGE],
      [['container.extraEnv.SIDEGATE_INSTANCE=a'], /SIDEGATE_INSTANCE/],
      [['container.data.size=2GiB'], /size/],
      [
        ['container.data.size=1Gi'],
        /config\.audit\.maxBytes \(1610612736\) must be below container\.data\.size \(1Gi\)/,
      ],
      [
        ['container.resources.limits.ephemeral-storage=2Gi'],
        /resources\.limits\.ephemeral-storage \(2Gi\) must be above data\.size \(2Gi\)/,
      ],
      [['container.resources.limits.ephemeral-storage=2147483647'], /must be above data\.size/],
      [['container.resources.limits.ephemeral-storage=2.1e9'], /must be above data\.size/],
      [['container.resources.limits.ephemeral-storage=1.9Gi'], /must be above data\.size/],
      [['container.resources.limits.ephemeral-storage=2147483648000m'], /must be above data\.size/],
      [['container.resources.limits.ephemeral-storage=much'], /ephemeral-storage/],
      [['container.data.type=existingClaim'], /data\.existingClaim must name the claim/],
      [
        ['container.data.type=existingClaim', 'container.data.existingClaim=a'],
        /set standalone\.replicas to 1/,
      ],
      [['container.ports.ops=8484'], /use two different ports/],
      [['config.limits.drainSeconds=40'], /must be at least 8 more than config\.limits\.drainSeconds \(40\)/],
      [
        [
          'rules.existingConfigMap=a',
          'rules.inline[0].name=a',
          'rules.inline[0].type=pii',
          'rules.inline[0].action=block',
        ],
        /leave rules\.files and rules\.inline empty/,
      ],
      [
        [
          'rules.files.values\\.yaml=a',
          'rules.inline[0].name=a',
          'rules.inline[0].type=pii',
          'rules.inline[0].action=block',
        ],
        /rules\.inline becomes the file values\.yaml, which rules\.files also has/,
      ],
      [['prices.existingConfigMap=a', 'prices.file=a'], /owned elsewhere; leave prices\.file empty/],
      [['config.prices.unknownPrice=ignore'], /config\.prices needs a price file; set prices\.file/],
      [['rules.files.readme=a'], /invalid propertyName 'readme'/],
      [['rules.inline[0].name=a', 'rules.inline[0].type=pii', 'rules.inline[0].action=blok'], /action/],
      [['injection.enabled=true'], /needs mode sidecar/],
      [['validation.actions={Deny,Warn}'], /actions/],
      [
        ['validation.enabled=true', 'container.upstreamSecret.name='],
        /guards container\.upstreamSecret\.name/,
      ],
    ]
    for (const [settings, message] of table) {
      const args = settings.flatMap((setting) => ['--set', setting])
      t.throws(
        () => charts.text('sidegate', '--kube-version', '1.36', '--set', 'mode=standalone', ...args),
        { message },
        settings.join(' '),
      )
    }
  })

  await t.test('registry, repository and tag make the image reference', async (t) => {
    const table: [registry: string, repository: string, image: string][] = [
      ['', 'sidegate', 'sidegate:1'],
      ['registry.example.com:5000', 'platform/sidegate', 'registry.example.com:5000/platform/sidegate:1'],
      ['ghcr.io/platform', 'side_gate.v2', 'ghcr.io/platform/side_gate.v2:1'],
      ['[fd00::1]:5000', 'sidegate', '[fd00::1]:5000/sidegate:1'],
      ['', 'registry.example.com:5000/sidegate', 'registry.example.com:5000/sidegate:1'],
    ]
    for (const [registry, repository, image] of table) {
      const value = JSON.stringify({ registry, repository, tag: '1' })
      const rendered = charts.render('examples/app', '--set-json', `sidegate.image=${value}`)
      const [gateway] = pick(rendered, 'Deployment')['spec'].template.spec.initContainers
      t.equal(gateway.image, image)
    }
  })

  await t.test('a store must fit into the Pod’s ephemeral storage', async (t) => {
    const dataOf = (...settings: string[]) => {
      const args = settings.flatMap((setting) => ['--set', setting])
      return pick(charts.render('examples/app', ...args), 'Deployment')['spec'].template.spec.volumes[4]
    }
    const limit = 'sidegate.resources.limits.ephemeral-storage'
    for (const above of ['2.1Gi', '2147483649', '2200M', '1P', '2.2e9', 'null'])
      t.match(dataOf(`${limit}=${above}`), { emptyDir: { sizeLimit: '2Gi' } }, above)
    t.ok(
      dataOf('sidegate.data.type=ephemeral', 'sidegate.data.size=20Gi').ephemeral,
      'an ephemeral volume has its own disk',
    )
    const elsewhere = 'validation.enabled=true,container.data.size=20Gi'
    t.ok(
      charts.render('sidegate', '--set', elsewhere).length > 0,
      'the sidecar mode leaves this check to the apps',
    )
    t.throws(() => dataOf('sidegate.data.size=20Gi'), {
      message: /resources\.limits\.ephemeral-storage \(2560Mi\) must be above data\.size \(20Gi\)/,
    })
  })

  await t.test('TLS of the listeners reaches probes, scrapes and the test', async (t) => {
    const pair = { certificate: { file: '/tls/tls.crt' }, key: { file: '/tls/tls.key' } }
    const listen = JSON.stringify({ tls: pair, opsTls: pair })
    const on = ['--set', 'podMonitor.enabled=true', '-f', 'sidegate/ci/standalone-values.yaml']
    const rendered = charts.render(
      ...([
        'sidegate',
        ...on,
        '--set',
        'container.opsTls=true',
        '--set-json',
        `config.listen=${listen}`,
      ] as const),
    )
    const [container] = pick(rendered, 'Deployment')['spec'].template.spec.containers
    for (const probe of ['startup', 'readiness', 'liveness'])
      t.match(container[`${probe}Probe`], { httpGet: { port: 'sidegate-ops', scheme: 'HTTPS' } }, probe)
    t.match(pick(rendered, 'PodMonitor')['spec'].podMetricsEndpoints, [{ scheme: 'https' }])
    t.match(pick(rendered, 'Pod')['spec'].containers[0].command.at(-1), /^https:/)
    const config = parse(pick(rendered, 'ConfigMap', 'sidegate-config')['data']['sidegate.yaml'])
    t.match(config.listen, { gateway: '0.0.0.0:8484', tls: pair, opsTls: pair })
    const plain = charts.render('sidegate', ...on)
    t.equal(
      pick(plain, 'Deployment')['spec'].template.spec.containers[0].startupProbe.httpGet.scheme,
      undefined,
    )
    t.match(pick(plain, 'Pod')['spec'].containers[0].command.at(-1), /^http:/)
    for (const [wrong, message] of [
      [['--set-json', `config.listen=${listen}`], /config\.listen\.opsTls and container\.opsTls go together/],
      [['--set', 'container.opsTls=true'], /go together/],
      [
        ['--set-json', `config.listen=${JSON.stringify({ tls: pair })}`, '--set', 'mode=sidecar'],
        /config\.listen\.tls needs mode standalone/,
      ],
    ] as const)
      t.throws(() => charts.text('sidegate', ...on, ...wrong), { message }, `${message}`)
  })

  await t.test('null removes probes, resources and single quantities', async (t) => {
    for (const probe of ['startup', 'readiness', 'liveness']) {
      const args = ['--set', `sidegate.probes.${probe}=null,sidegate.resources=null`]
      const { initContainers } = pick(charts.render('examples/app', ...args), 'Deployment')['spec'].template
        .spec
      const probes = ['startup', 'readiness', 'liveness'].filter(
        (name) => initContainers[0][`${name}Probe`] === undefined,
      )
      t.same(probes, [probe])
      t.same(initContainers[0].resources ?? {}, {})
    }
    // One values file removes what another sets.
    const quantities = '{"limits":{"cpu":null},"requests":{"cpu":null}}'
    const { spec } = pick(
      charts.render('examples/app', '--set-json', `sidegate.resources=${quantities}`),
      'Deployment',
    )['spec'].template
    t.strictSame(spec.initContainers[0].resources, {
      limits: { 'ephemeral-storage': '2560Mi', memory: '512Mi' },
      requests: { 'ephemeral-storage': '64Mi', memory: '192Mi' },
    })
  })

  await t.test('custom labels are added but never replace those of the chart', async (t) => {
    const args = [
      ...[
        '--set',
        'mode=standalone,podMonitor.enabled=true,prometheusRule.enabled=true,dashboard.enabled=true',
      ],
      ...['--set-json', 'commonLabels={"team":"all","tier":"x"}'],
      ...['--set-json', 'standalone.podLabels={"team":"pods"}'],
      ...['podMonitor', 'prometheusRule', 'dashboard'].flatMap((one) => ['--set', `${one}.labels.team=seen`]),
    ]
    const rendered = charts.render('sidegate', ...args)
    for (const { kind, metadata } of rendered) {
      const special = /^(PodMonitor|PrometheusRule)$/.test(kind) || metadata.name === 'sidegate-dashboard'
      t.match(metadata.labels, { team: special ? 'seen' : 'all', tier: 'x' }, `${kind} ${metadata.name}`)
    }
    const { labels } = pick(rendered, 'Deployment')['spec'].template.metadata
    t.match(labels, { team: 'pods', tier: 'x', 'app.kubernetes.io/name': 'sidegate' })
    const places = ['commonLabels', 'standalone.podLabels', 'podMonitor.labels', 'prometheusRule.labels']
    for (const place of [...places, 'dashboard.labels']) {
      t.throws(() => charts.text('sidegate', '--set-json', `${place}={"app.kubernetes.io/name":"a"}`), {
        message: new RegExp(`${place}: app\\.kubernetes\\.io/name is set by the chart`),
      })
    }
    const checksum = 'standalone.podAnnotations={"sidegate.dev/config-checksum":"a"}'
    t.throws(() => charts.text('sidegate', '--set-json', checksum), { message: /is set by the chart/ })
  })

  await t.test('the Pod of helm test meets the demands on the gateway’s Pods', async (t) => {
    const chart = join(charts.folder, 'sidegate/Chart.yaml')
    const before = readFileSync(chart, 'utf8')
    // Controllers that follow a branch append build metadata to the version.
    writeFileSync(chart, before.replace(/^version: (.*)$/m, 'version: $1+5f3c2a1'))
    const rendered = charts.render(
      'sidegate',
      '-f',
      'sidegate/ci/standalone-values.yaml',
      '--set',
      'commonLabels.team=a',
    )
    writeFileSync(chart, before)
    const pod = pick(rendered, 'Pod')
    const deployment = pick(rendered, 'Deployment')['spec'].template
    const { labels } = pod.metadata as { labels: Record<string, string> }
    for (const value of Object.values(labels))
      t.match(value, /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/)
    t.equal(labels['team'], 'a', 'carries the common labels')
    for (const field of [
      'serviceAccountName',
      'securityContext',
      'nodeSelector',
      'tolerations',
      'priorityClassName',
    ])
      t.same(pod['spec'][field], deployment.spec[field], field)
    t.same(pod['spec'].containers[0].resources, deployment.spec.containers[0].resources)
    const selector = Object.entries(pick(rendered, 'Service')['spec'].selector)
    t.notOk(
      selector.every(([name, value]) => labels[name] === value),
      'the Service does not select it',
    )
  })

  await t.test('a parent chart may set `enabled`', async (t) => {
    t.ok(charts.render('sidegate', '--set', 'enabled=true').length > 0)
    t.ok(charts.render('examples/app', '--set', 'sidegate.enabled=true').length > 0)
  })

  await t.test('an unknown value of an app is refused', async (t) => {
    t.throws(() => charts.text('examples/app', '--set', 'sidegate.imagee=x'), {
      message: /additional properties 'imagee' not allowed/,
    })
  })

  await t.test('the notes list the next steps and warn about a log that is deleted', async (t) => {
    const notes = (...args: string[]) => {
      const { stdout } = charts.helm(
        'install',
        'sidegate',
        'sidegate',
        '-n',
        'team',
        '--dry-run=client',
        ...args,
      )
      return stdout.slice(stdout.indexOf('NOTES:'))
    }
    t.match(
      notes(),
      /create secret generic sidegate-upstream.*WARNING: the usage log is kept in an emptyDir/s,
    )
    t.match(notes(), /No rules were given/)
    const own = 'fullnameOverride=llm,rules.existingConfigMap=policy,container.ports.ops=9999'
    const text = notes('--set', `${own},container.signingSecret.name=signing`)
    const [, values = ''] = /app's values:\n( +sidegate:\n(?: {7,}.*\n)+)/.exec(text) ?? []
    t.match(
      parse(values),
      {
        sidegate: {
          ...{ configMap: 'llm-config', rulesConfigMap: 'policy', ports: { gateway: 8484, ops: 9999 } },
          ...{ upstreamSecret: { name: 'sidegate-upstream' }, signingSecret: { name: 'signing' } },
          image: { repository: 'sidegate' },
        },
      },
      'the values that apps must repeat',
    )
    t.match(text, 'create secret generic signing --from-file=signing-key.pem=signing-key.pem')
    const injected = ['--set', 'injection.enabled=true']
    t.notMatch(notes(...injected), /fsGroup/)
    t.match(notes(...injected, '--set', 'container.data.type=ephemeral'), /must set .*fsGroup: 65532/)
    const standalone = notes('-f', 'sidegate/ci/standalone-values.yaml')
    t.match(standalone, /WARNING: only one of the 3 Pods knows such a key.*an ephemeral volume/s)
    t.notMatch(notes('-f', 'sidegate/ci/standalone-claim-values.yaml'), /WARNING/)
    t.notMatch(notes('-f', 'sidegate/ci/existing-values.yaml'), /create secret|No rules/)
  })

  await t.test('the beta API is used if the cluster has it', async (t) => {
    const beta = 'admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy'
    const args = ['--kube-version', '1.34', '--set', 'injection.enabled=true']
    t.throws(() => charts.text('sidegate', ...args), { message: /needs MutatingAdmissionPolicy/ })
    const rendered = charts.render('sidegate', ...args, '--api-versions', beta)
    const stable = charts.render('sidegate', '--kube-version', '1.36', '--set', 'injection.enabled=true')
    for (const kind of ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding']) {
      t.same(pick(rendered, kind), {
        ...pick(stable, kind),
        apiVersion: 'admissionregistration.k8s.io/v1beta1',
      })
    }
  })
})
