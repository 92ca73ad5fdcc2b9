import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const PACKAGES = path.resolve(import.meta.dirname, '../..')

/** What each room may import besides itself; tests may import anything. First match of the importing file counts. */
const LAW: readonly (readonly [from: RegExp, to: RegExp])[] = [
  [/^contract\//, /^(?:contract\/|zod$|@orpc\/contract$)/],
  [/^server\/kit\//, /^(?:server\/kit\/|(?!@waxwing|@orpc|hono|kysely|pg$|server\/|contract\/))/],
  [/^server\/database\//, /^(?:server\/(?:database|kit)\/|(?!@orpc|hono|server\/|contract\/))/],
  [/^server\/providers\//, /^(?:server\/(?:providers|kit)\/|(?!@orpc|hono|kysely|pg$|server\/|contract\/))/],
  [
    /^server\/(?:events|jobs)\//,
    /^(?:server\/(?:events|jobs|database|kit)\/|contract\/events|(?!@orpc|hono|server\/|contract\/))/,
  ],
  [
    /^server\/features\//,
    /^(?:server\/(?:features|events|jobs|database|kit)\/|server\/providers\/(?:provider|mailbox-role)\.ts|contract\/|(?!hono|server\/))/,
  ],
  [
    /^server\/sync\//,
    /^(?:server\/(?:sync|providers|events|jobs|database|kit)\/|server\/features\/[^/]+\/(?:store|rules|record[^/]*|secrets)\.ts|(?!@orpc|hono|server\/|contract\/))/,
  ],
  [
    /^server\/http\//,
    /^(?:server\/(?:http|database|kit)\/|server\/features\/(?:[^/]+\/(?:operations|access)|context|refuse|credentials\/[^/]+)\.ts|contract\/|(?!server\/))/,
  ],
  [/^server\/config/, /^(?:server\/(?:config|kit)|(?!server\/|contract\/))/],
]

/** Of another feature, a feature knows what it stores and decides, not how it answers. */
const SHARED_BETWEEN_FEATURES =
  /^server\/features\/(?:context|refuse|[^/]+\/(?:store|rules|access|account|present|record[^/]*|credential|threading|sync-window))\.ts$/

interface Import {
  from: string
  to: string
  isType: boolean
}

const IMPORT = /^(?:import|export)(?: (type))? (?:[^'=();]*?from )?'([^']+)'/gm

function importsOf(file: string): Import[] {
  const from = file.replace('/src/', '/')
  return [...readFileSync(path.join(PACKAGES, file), 'utf8').matchAll(IMPORT)].map(
    ([, type, target = '']) => {
      const to = target.startsWith('.')
        ? path.posix.join(path.posix.dirname(from), target)
        : target.replace(/^@waxwing\//, '')
      return { from, to, isType: type !== undefined }
    },
  )
}

const files = globSync('*/src/**/*.ts', { cwd: PACKAGES }).filter(file => !file.endsWith('.test.ts'))
const imports = files.flatMap(importsOf)
const arrow = ({ from, to }: Import) => `${from} -> ${to}`
const featureOf = (file: string) => /^server\/features\/([^/]+)\//.exec(file)?.[1]

describe('the import law', () => {
  test('finds imports at all', () => expect(imports.length).toBeGreaterThan(50))

  test('lets each room import only what it may', () => {
    const broken = imports.filter(
      one => LAW.find(([from]) => from.test(one.from))?.[1].test(one.to) === false,
    )
    expect(broken.map(arrow)).toEqual([])
  })

  test('keeps features from each other’s insides', () => {
    const broken = imports.filter(({ from, to }) => {
      const other = featureOf(to)
      return featureOf(from) && other && other !== featureOf(from) && !SHARED_BETWEEN_FEATURES.test(to)
    })
    expect(broken.map(arrow)).toEqual([])
  })

  test('knows no circles', () => {
    const next = Map.groupBy(
      imports.filter(one => !one.isType),
      one => one.from,
    )
    const circles: string[] = []
    const done = new Set<string>()
    const walk = (file: string, way: string[]): void => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' -> '))
      if (done.has(file) || way.includes(file)) return
      for (const { to } of next.get(file) ?? []) walk(to, [...way, file])
      done.add(file)
    }
    for (const file of next.keys()) walk(file, [])
    expect(circles).toEqual([])
  })

  test('reads the environment in one place', () => {
    const readers = files.filter(file =>
      readFileSync(path.join(PACKAGES, file), 'utf8').includes('process.env'),
    )
    expect(readers).toEqual(['server/src/cli/connect.ts'])
  })
})
