import { readdirSync } from 'node:fs'
import path from 'node:path'
import { Deployment } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service } from 'kubernetes-models/v1'
import { describe, expect, test } from 'vitest'
import { stopSecondsMax } from '../../src/cli/serve.ts'
import { readConfig } from '../../src/config.ts'
import { ROLES } from '../../src/config/settings.ts'
import { DEPLOY, readDeployed, readYaml } from './files.ts'

interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
}

const MODELS: Record<string, new (manifest: never) => { validate(): void }> = {
  'apps/v1 Deployment': Deployment,
  'autoscaling/v2 HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
  'v1 ConfigMap': ConfigMap,
  'v1 Namespace': Namespace,
  'v1 PersistentVolumeClaim': PersistentVolumeClaim,
  'v1 Secret': Secret,
  'v1 Service': Service,
}

const FOLDER = path.join(DEPLOY, 'kubernetes')
const [kustomization] = readYaml(readDeployed('kubernetes/kustomization.yaml')) as [{ resources: string[] }]
/** Applied by itself, so that an example never replaces a secret that is in use. */
const EXAMPLE = 'secrets.example.yaml'
const manifests = [...kustomization.resources, EXAMPLE].flatMap(
  file => readYaml(readDeployed(`kubernetes/${file}`)) as Manifest[],
)
const named = (kind: string, name: string) =>
  manifests.find(each => each.kind === kind && each.metadata.name === name)

/** The models have checked them by the time that they are used. */
const deployments = manifests.filter(({ kind }) => kind === 'Deployment') as unknown as DeploymentManifest[]

interface DeploymentManifest extends Manifest {
  spec: {
    selector: { matchLabels: Record<string, string> }
    template: {
      metadata: { labels: Record<string, string>; annotations: Record<string, string> }
      spec: {
        enableServiceLinks: boolean
        automountServiceAccountToken: boolean
        terminationGracePeriodSeconds: number
        securityContext: object
        containers: [Container]
        volumes: { name: string; persistentVolumeClaim?: { claimName: string } }[]
      }
    }
  }
}

interface Container {
  env: { name: string; value: string }[]
  envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[]
  ports: { name: string; containerPort: number }[]
  securityContext: object
  startupProbe: Probe
  livenessProbe: Probe
  readinessProbe: Probe
  volumeMounts: { name: string }[]
}

interface Probe {
  httpGet: { path: string; port: string }
}

/** The settings of a process, as Kubernetes puts them together. */
function environmentOf({ env, envFrom }: Container): Record<string, string> {
  const given = envFrom.map(({ configMapRef, secretRef }) => {
    const source = configMapRef
      ? named('ConfigMap', configMapRef.name)
      : named('Secret', secretRef?.name ?? '')
    const { data, stringData } = source as Manifest & Record<'data' | 'stringData', Record<string, string>>
    return data ?? stringData
  })
  return Object.assign({}, ...given, Object.fromEntries(env.map(({ name, value }) => [name, value])))
}

describe('the manifests for Kubernetes', () => {
  test('are all listed', () => {
    const files = readdirSync(FOLDER).filter(file => file !== 'kustomization.yaml')
    expect([...kustomization.resources, EXAMPLE].toSorted()).toEqual(files.toSorted())
  })

  test.each(manifests)('have a valid $kind $metadata.name', manifest => {
    const Model = MODELS[`${manifest.apiVersion} ${manifest.kind}`]
    expect(Model).toBeDefined()
    if (Model) new Model(manifest as never).validate()
  })

  test('start every role with valid settings', () => {
    const roles = deployments.flatMap(({ spec }) => {
      const [container] = spec.template.spec.containers
      const config = readConfig(environmentOf(container), { isRoot: false, isTerminal: false })
      const ports = Object.fromEntries(
        container.ports.map(({ name, containerPort }) => [name, containerPort]),
      )
      expect(ports['metrics']).toBe(config.metricsPort)
      expect(config.metricsHost).toBe('0.0.0.0')
      if (config.roles.includes('api')) expect(ports['http']).toBe(config.port)
      return config.roles
    })
    expect(roles.toSorted()).toEqual([...ROLES].toSorted())
  })
})

describe.each(deployments)('$metadata.name', ({ metadata, spec }) => {
  const { labels, annotations } = spec.template.metadata
  const pod = spec.template.spec
  const [container] = pod.containers

  test('gives its processes time to stop', () => {
    const { noticeSeconds } = readConfig(environmentOf(container), { isRoot: false, isTerminal: false })
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(stopSecondsMax(noticeSeconds))
  })

  test('is probed at the metrics port, which every role has', () => {
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
    expect(probes.map(({ httpGet }) => httpGet)).toEqual([
      { path: '/health/live', port: 'metrics' },
      { path: '/health/live', port: 'metrics' },
      { path: '/health/ready', port: 'metrics' },
    ])
    expect(annotations).toMatchObject({ 'prometheus.io/scrape': 'true', 'prometheus.io/port': '8026' })
  })

  test('is as restricted as Kubernetes can restrict it', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  })

  test('is what its budget, its scaling and its service name', () => {
    expect(labels).toEqual(spec.selector.matchLabels)
    expect(named('PodDisruptionBudget', metadata.name)).toMatchObject({
      spec: { selector: { matchLabels: labels } },
    })
    const scaling = named('HorizontalPodAutoscaler', metadata.name)
    if (scaling) {
      expect(scaling).toMatchObject({ spec: { scaleTargetRef: { kind: 'Deployment', name: metadata.name } } })
      // The scaler decides, and each application of the manifest would set it back.
      expect(spec).not.toHaveProperty('replicas')
    }
    for (const { persistentVolumeClaim: claim } of pod.volumes)
      if (claim) expect(named('PersistentVolumeClaim', claim.claimName)).toBeDefined()
    expect(container.volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name))
  })
})

test('the service sends requests to the processes of the role api', () => {
  const api = deployments.find(({ metadata }) => metadata.name === 'waxwing-api')
  expect(named('Service', 'waxwing')).toMatchObject({ spec: { selector: api?.spec.selector.matchLabels } })
})
