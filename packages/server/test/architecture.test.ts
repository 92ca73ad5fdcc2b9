import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const PACKAGES = path.resolve(import.meta.dirname, '../..')

/** Packages that only the HTTP rooms, and those that only the SQL rooms, may import. */
const HTTP = '@orpc|hono'
const SQL = 'kysely|pg$'

/**
 * What each room may import besides itself. Tests may import anything. The first entry that matches the importing file
 * counts.
 */
const LAW: readonly (readonly [from: RegExp, to: RegExp])[] = [
  [/^contract\//, /^(?:contract\/|zod$|@orpc\/contract$)/],
  [/^sandbox\//, /^(?!server|contract)/],
  [/^server\/kit\//, room('kit', `@waxwing|${HTTP}|${SQL}|contract/`)],
  [/^server\/limits\//, room('limits|jobs|database|kit', `${HTTP}|contract/`)],
  [/^server\/database\//, room('database|kit', `${HTTP}|contract/`)],
  [/^server\/providers\//, room('providers|kit', `${HTTP}|${SQL}|contract/`)],
  [/^server\/(?:events|jobs)\//, room('events|jobs|database|kit', HTTP)],
  [
    /^server\/connections\//,
    room(
      'connections|providers|database|kit',
      `${HTTP}|contract/`,
      'features/accounts/[^/]+/(?:store|rules|secrets|account|clients?|record[^/]*)\\.ts',
    ),
  ],
  [
    /^server\/features\/[^/]+\/wing\.ts/,
    room(
      'features|events|jobs|limits|database|kit',
      HTTP,
      'providers/[^/]+\\.ts',
      'connections/connections\\.ts',
      'sync/[^/]+/follower\\.ts',
      'wing\\.ts',
    ),
  ],
  [
    /^server\/features\//,
    room(
      'features|events|jobs|limits|database|kit',
      'hono',
      'providers/[^/]+\\.ts',
      'connections/connections\\.ts',
    ),
  ],
  [
    /^server\/sync\//,
    room(
      'sync|events|jobs|database|kit',
      `${HTTP}|contract/`,
      'features/[^/]+/[^/]+/(?:store|following|rules|keys|record[^/]*)\\.ts',
      'providers/[^/]+\\.ts',
      'connections/connections\\.ts',
    ),
  ],
  [
    /^server\/door\//,
    room(
      'door|events|jobs|limits|database|kit',
      'hono|node:http',
      'features/(?:tenancy/.+|accounts/accounts/access|context|hosted-session|refuse)\\.ts',
    ),
  ],
  [
    /^server\/http\//,
    room(
      'http|door|limits|database|kit',
      SQL,
      'features/(?:context|public-page|public-route|push-receiver|refuse)\\.ts',
    ),
  ],
  [
    /^server\/wing\.ts/,
    room(
      'jobs|limits|database|kit',
      null,
      'config\\.ts',
      'events/news\\.ts',
      'connections/connections\\.ts',
      'features/(?:hosted-session|public-route|push-receiver|accounts/accounts/purge|tenancy/usage/counts)\\.ts',
      'providers/[^/]+\\.ts',
      'sync/follower\\.ts',
    ),
  ],
  [/^server\/wings\.ts/, room('wings', null, 'features/(?:context|[^/]+/wing)\\.ts', 'wing\\.ts')],
  [
    /^server\/(?:main\.ts|start\/)/,
    room(
      'start|config|http|door|sync|connections|providers|events|jobs|limits|database|kit',
      null,
      'config\\.ts',
      'events/news\\.ts',
      'features/(?:public-route|push-receiver)\\.ts',
      'package\\.json',
      'wings?\\.ts',
    ),
  ],
  [/^server\/config/, /^(?:server\/(?:config|kit)|(?!server\/|contract\/))/],
]

/** Rooms of the server, files in other rooms, and packages but the banned ones (null: any package). */
function room(rooms: string, banned: string | null, ...files: string[]): RegExp {
  const own = [`server/(?:${rooms})/`, ...files.map(file => `server/${file}`)]
  const barred = ['server/', ...(banned === null ? [] : [banned])]
  return new RegExp(`^(?:${own.join('|')}|(?!${barred.join('|')}))`)
}

/** In the order in which they are opened. A wing imports itself and those before it. */
const WINGS = [
  ...readFileSync(path.join(PACKAGES, 'server/src/wings.ts'), 'utf8').matchAll(/= (?:await )?open(\w+)\(/g),
].map(([, wing = '']) => wing.toLowerCase())

/** How a noun answers, and what it does by itself: no other noun may use that. */
const OWN_TO_A_NOUN = /(?:operations|routes?|worker|rewriter|tasks)\.ts$/

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
const placeOf = (file: string) => /^server\/features\/([^/]+)\/(?:([^/]+)\/)?/.exec(file)?.slice(1) ?? []

describe('the import law', () => {
  test('finds imports', () => expect(imports.length).toBeGreaterThan(50))

  test('lets each room import only what the law allows', () => {
    const broken = imports.filter(
      one => LAW.find(([from]) => from.test(one.from))?.[1].test(one.to) === false,
    )
    expect(broken.map(arrow)).toEqual([])
  })

  test('lets no noun import how another noun answers', () => {
    const broken = imports.filter(({ from, to }) => {
      const [[, noun], [, other]] = [placeOf(from), placeOf(to)]
      return noun && other && other !== noun && OWN_TO_A_NOUN.test(to)
    })
    expect(broken.map(arrow)).toEqual([])
  })

  test('knows every wing', () => {
    const folders = globSync('server/src/features/*/', { cwd: PACKAGES }).map(folder => path.basename(folder))
    expect(folders.toSorted()).toEqual(WINGS.toSorted())
  })

  test('lets only wings.ts import what a wing brings', () => {
    const broken = imports.filter(
      ({ from, to }) => /features\/[^/]+\/wing\.ts/.test(to) && from !== 'server/wings.ts',
    )
    expect(broken.map(arrow)).toEqual([])
  })

  test('lets wings import only earlier wings', () => {
    const broken = imports.filter(({ from, to }) => {
      const [[wing], [other]] = [placeOf(from), placeOf(to)]
      return wing && other && WINGS.indexOf(other) > WINGS.indexOf(wing)
    })
    expect(broken.map(arrow)).toEqual([])
  })

  test('has no import cycles', () => {
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

  test('loads the module of a command only when it runs', () => {
    const loaded = imports.filter(
      ({ from, to, isType }) => from === 'server/cli/main.ts' && to.startsWith('server/cli/') && !isType,
    )
    const always = ['server/cli/command-error.ts', 'server/cli/connect.ts']
    expect(loaded.map(({ to }) => to).toSorted()).toEqual(always)
  })

  test('reads the environment in one place', () => {
    const readers = files.filter(file =>
      readFileSync(path.join(PACKAGES, file), 'utf8').includes('process.env'),
    )
    expect(readers).toEqual(['server/src/cli/connect.ts'])
  })

  test('selects named columns, so that a newer release may add others', () => {
    const selecting = files.filter(file =>
      /\b(?:selectAll|returningAll)\(/.test(readFileSync(path.join(PACKAGES, file), 'utf8')),
    )
    expect(selecting).toEqual([])
  })
})
