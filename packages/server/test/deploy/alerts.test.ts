import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { openMetrics } from '../../src/kit/metrics.ts'
import { ROLES } from '../../src/config/settings.ts'
import { Secret } from '../../src/kit/secret.ts'
import { openTestApp } from '../open-app.ts'
import { requireProgram } from '../servers/install.ts'
import { startRedis } from '../servers/redis.ts'
import { DEPLOY, readDeployed, readYaml } from './files.ts'

const run = promisify(execFile)
const RULES = path.join(DEPLOY, 'prometheus/alerts.yaml')

interface Rule {
  alert: string
  expr: string
  annotations: { runbook: string }
}

interface Dashboard {
  panels: { targets?: { expr: string }[] }[]
}

const [{ groups }] = readYaml(readDeployed('prometheus/alerts.yaml')) as [{ groups: { rules: Rule[] }[] }]
const rules = groups.flatMap(group => group.rules)
const dashboard: Dashboard = JSON.parse(readDeployed('grafana/waxwing.json'))
const expressions = [
  ...rules.map(({ alert, expr }) => ({ of: alert, expr })),
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => ({ of: 'dashboard', expr }))),
]

/** The labels of every metric that a process with all roles has. */
const labelsOf = new Map<string, readonly string[]>()

beforeAll(async () => {
  const metrics = openMetrics()
  await using redis = await startRedis()
  const config = { redisUrl: new Secret(redis.url) }
  await using _app = await openTestApp({ roles: [...ROLES], metrics, config })
  for (const metric of metrics.getMetricsAsArray()) {
    const { name, labelNames = [] } = metric as typeof metric & { labelNames?: string[] }
    labelsOf.set(name, labelNames)
  }
})

/** Labels that Prometheus adds to each series that it reads. */
const LABELS_OF_PROMETHEUS = ['job', 'instance', 'le']

test('the alert rules are valid, and go off when they should', async () => {
  await run(requireProgram('promtool'), ['check', 'rules', RULES])
  await run(requireProgram('promtool'), ['test', 'rules', path.join(DEPLOY, 'prometheus/alerts.test.yaml')])
})

test.each(expressions)('$of: $expr names metrics and labels that exist', ({ expr }) => {
  const metrics = [...expr.matchAll(/\b(?:waxwing|process|nodejs)_\w+/g)].map(([name]) => name)
  if (!expr.includes('up{')) expect(metrics.length).toBeGreaterThan(0)
  const known = (name: string) =>
    labelsOf.get(name) ?? labelsOf.get(name.replace(/_(?:bucket|count|sum)$/, ''))
  expect(metrics.filter(name => !known(name))).toEqual([])
  const labels = [
    ...[...expr.matchAll(/\{([^}]*)\}/g)].flatMap(
      ([, inside = '']) => inside.match(/\w+(?==~?"|![=~]")/g) ?? [],
    ),
    ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, inside = '']) => inside.split(/, ?/)),
  ]
  const all = metrics.flatMap(name => known(name) ?? [])
  expect(labels.filter(label => ![...all, ...LABELS_OF_PROMETHEUS].includes(label))).toEqual([])
})

test('each alert has a remedy', () => {
  const sections = [...readDeployed('../docs/operations.md').matchAll(/^### (\w+)$/gm)].map(
    ([, name]) => name,
  )
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`)
    expect(sections).toContain(alert)
  }
})
