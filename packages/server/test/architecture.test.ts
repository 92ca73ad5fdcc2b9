import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const PACKAGES = path.resolve(import.meta.dirname, '../..')

/**
 * Floors of the server's rooms, the lowest first: a room imports itself and the rooms of lower floors. Tests may import
 * anything.
 */
const FLOORS: readonly (readonly string[])[] = [
  ['kit'],
  ['config'],
  ['database'],
  ['providers', 'processes'],
  ['events'],
  ['limits', 'jobs'],
  ['accounts'],
  ['connections'],
  ['sync'],
  ['calls'],
  ['pages'],
  ['wing'],
  ['features'],
  ['wings.ts', 'door'],
  ['http'],
  ['start'],
  ['main.ts'],
  ['cli'],
]

/** The lowest floor from which the contract is seen. Rooms below it must not reach it through others, either. */
const CONTRACT_FROM = 'events'

/** Lower rooms of which another sees only some files, or none. */
const VIEWS: readonly { from: RegExp; of: RegExp; only: RegExp | null }[] = [
  // Settings are read where the process is put together, and handed on.
  { from: /^(?!wing\/|start\/|main\.ts$|cli\/)/, of: /^config(?:\.ts$|\/)/, only: null },
  { from: /^providers\//, of: /^database\//, only: null },
  { from: /^(?:events|jobs|limits)\//, of: /^providers\//, only: null },
  { from: /^accounts\//, of: /^(?:jobs|limits)\//, only: null },
  { from: /^limits\//, of: /^events\//, only: null },
  { from: /^connections\//, of: /^(?:processes|events|jobs|limits)\//, only: null },
  {
    from: /^connections\//,
    of: /^accounts\//,
    only: /^accounts\/(?:row|store|settings|secrets|reach|halves\/(?:kind|notice)|grants\/[^/]+|apps\/[^/]+)\.ts$/,
  },
  { from: /^sync\//, of: /^limits\//, only: null },
  { from: /^sync\//, of: /^accounts\/(?:secrets\.ts|grants\/|apps\/)/, only: null },
  { from: /^(?:accounts|sync|calls|wing|features)\//, of: /^providers\//, only: /^providers\/[^/]+\.ts$/ },
  { from: /^(?:sync|wing|features)\//, of: /^connections\//, only: /^connections\/connections\.ts$/ },
  { from: /^(?:calls|pages|wing)\//, of: /^accounts\//, only: null },
  { from: /^(?:calls|pages)\//, of: /^(?:processes|jobs|limits|connections|sync)\//, only: null },
  { from: /^wing\//, of: /^sync\//, only: /^sync\/follower\.ts$/ },
  // A follower stands in its wing, and nothing else of a wing sees how accounts are followed.
  {
    from: /^features\/[^/]+\/(?!following\/)/,
    of: /^(?:sync\/|accounts\/halves\/ownership\.ts)/,
    only: null,
  },
  {
    from: /^features\/[^/]+\/[^/]+\//,
    of: /^wing\//,
    only: /^wing\/(?!wing\.ts|resources\.ts)[^/]+\.ts$/,
  },
  { from: /^door\//, of: /^features\//, only: /^features\/(?:tenancy\/.+|accounts\/accounts\/access)\.ts$/ },
  { from: /^door\//, of: /^(?:accounts|pages|sync|connections|providers)\//, only: null },
  {
    from: /^http\//,
    of: /^(?:features|sync|connections|accounts|providers|processes|jobs|events)\//,
    only: null,
  },
  { from: /^(?:main\.ts$|start\/)/, of: /^(?:features|accounts)\//, only: null },
  { from: /^wings\.ts$/, of: /^features\//, only: /^features\/[^/]+\/wing\.ts$/ },
  { from: /^wings\.ts$/, of: /^(?!features\/|wing\/|calls\/)/, only: null },
]

/** Packages that only the HTTP rooms, and those that only the SQL rooms, may import. */
const HTTP = '@orpc/|hono'
const SQL = 'kysely|pg$'
const BANNED_PACKAGES: readonly (readonly [from: RegExp, packages: RegExp])[] = [
  [/^(?:kit|config|providers|calls|pages)\//, new RegExp(`^(?:${HTTP})`)],
  [/^(?:kit|config|providers|pages|http)\//, new RegExp(`^(?:${SQL})`)],
  [/^(?:database|processes|events|limits|jobs|accounts|connections|sync)\//, new RegExp(`^(?:${HTTP})`)],
  [/^features\/[^/]+\/wing\.ts/, new RegExp(`^(?:${HTTP})`)],
  [/^(?:features|door)\//, /^hono/],
  [/^door\//, /^node:http/],
]

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

const inServer = (file: string) => (file.startsWith('server/') ? file.slice('server/'.length) : '')
const roomOf = (file: string) => (file === 'config.ts' ? 'config' : (/^[^/]+/.exec(file)?.[0] ?? ''))
const floorOf = (file: string) => FLOORS.findIndex(rooms => rooms.includes(roomOf(file)))

/** Imports within the server, of paths from its `src`. */
const serverImports = imports
  .filter(({ from, to }) => inServer(from) !== '' && /^server\/.*\.ts$/.test(to))
  .map(({ from, to, isType }) => ({ from: inServer(from), to: inServer(to), isType }))
const isUpward = ({ from, to }: Import) => roomOf(from) !== roomOf(to) && floorOf(from) <= floorOf(to)

const arrow = ({ from, to }: Import) => `${from} -> ${to}`
const placeOf = (file: string) => /^server\/features\/([^/]+)\/(?:([^/]+)\/)?/.exec(file)?.slice(1) ?? []

describe('the import law', () => {
  test('finds imports', () => expect(imports.length).toBeGreaterThan(50))

  test('keeps each package apart', () => {
    const allowed: ReadonlyArray<readonly [RegExp, RegExp]> = [
      [/^contract\//, /^(?:contract\/|zod$|@orpc\/contract$)/],
      [/^sandbox\//, /^(?!server|contract)/],
      [/^sdk\//, /^(?!server|contract|sandbox)/],
    ]
    const broken = imports.filter(
      one => allowed.find(([from]) => from.test(one.from))?.[1].test(one.to) === false,
    )
    expect(broken.map(arrow)).toEqual([])
    // The service is no client of its own; the command line is one.
    const clients = imports.filter(
      ({ from, to }) => to.startsWith('sdk/') && !/^(?:sdk|server\/cli)\//.test(from),
    )
    expect(clients.map(arrow)).toEqual([])
  })

  test('keeps providers out of the rooms of the sandbox that all providers share', () => {
    const broken = imports.filter(
      ({ from, to }) =>
        /^sandbox\/(?:world|hosting|control|smtp|mail|signing|sign-in|limits|pushing|calendaring)\//.test(
          from,
        ) &&
        /^sandbox\/(?!(?:world|hosting|control|smtp|mail|signing|sign-in|limits|pushing|calendaring)\/)/.test(
          to,
        ),
    )
    expect(broken.map(arrow)).toEqual([])
  })

  test('names no provider in the code of those rooms', () => {
    const naming = files.filter(
      file =>
        /^sandbox\/src\/(?:world|hosting|control|smtp|signing|sign-in|limits|pushing)\//.test(file) &&
        /google|gmail|microsoft/i.test(
          readFileSync(path.join(PACKAGES, file), 'utf8').replaceAll(/\/\*.*?\*\/|\/\/.*$/gms, ''),
        ),
    )
    expect(naming).toEqual([])
  })

  test('puts each room on a floor', () => {
    const rooms = new Set(serverImports.map(({ from }) => roomOf(from)))
    expect([...rooms].toSorted()).toEqual(FLOORS.flat().toSorted())
  })

  test('lets each room import only lower floors', () => {
    expect(serverImports.filter(isUpward).map(arrow)).toEqual([])
  })

  test('shows rooms only the files that they may see', () => {
    const broken = serverImports
      .filter(one => roomOf(one.from) !== roomOf(one.to))
      .filter(one =>
        VIEWS.some(
          ({ from, of, only }) =>
            from.test(one.from) && of.test(one.to) && !isUpward(one) && !only?.test(one.to),
        ),
      )
    expect(broken.map(arrow)).toEqual([])
  })

  test('keeps packages out of rooms that must not import them', () => {
    const broken = imports.filter(({ from, to }) =>
      BANNED_PACKAGES.some(([room, packages]) => room.test(inServer(from)) && packages.test(to)),
    )
    expect(broken.map(arrow)).toEqual([])
  })

  test('keeps the contract from the lowest floors, also by what they reach through others', () => {
    const lowest = FLOORS.findIndex(rooms => rooms.includes(CONTRACT_FROM))
    const low = new Set(FLOORS.slice(0, lowest).flat())
    const next = Map.groupBy(imports, one => one.from)
    const ways = new Map<string, string>()
    for (const file of next.keys()) if (low.has(roomOf(inServer(file)))) ways.set(file, file)
    // A map that grows meanwhile is gone through to its end.
    for (const [file, way] of ways)
      for (const { to } of next.get(file) ?? []) if (!ways.has(to)) ways.set(to, `${way} -> ${to}`)
    const broken = [...ways].filter(([file]) => /^(?:contract|@orpc)\//.test(file))
    expect(broken.map(([, way]) => way)).toEqual([])
  })

  test('lets the ground of accounts take only types from the contract', () => {
    const taken = imports.filter(
      ({ from, to }) => from.startsWith('server/accounts/') && to.startsWith('contract/'),
    )
    expect(taken).not.toEqual([])
    expect(taken.filter(({ isType }) => !isType).map(arrow)).toEqual([])
  })

  test('lets no noun import how another noun answers', () => {
    const broken = imports.filter(({ from, to }) => {
      const [[, noun], [, other]] = [placeOf(from), placeOf(to)]
      return noun && other && other !== noun && OWN_TO_A_NOUN.test(to)
    })
    expect(broken.map(arrow)).toEqual([])
  })

  test('lists every wing', () => {
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

  test('has no import cycles, types included', () => {
    const next = Map.groupBy(imports, one => one.from)
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

  test('decides in one place whether a row is claimed', () => {
    const asking = files.filter(file => /\bisLive\b/.test(readFileSync(path.join(PACKAGES, file), 'utf8')))
    expect(asking.map(file => file.replace('server/src/', '')).toSorted()).toEqual([
      'accounts/halves/ownership.ts', // accounts whose owner is gone
      'accounts/spread.ts', // what each owner follows
      'accounts/troubles.ts', // accounts whose owner is gone
      'cli/instances.ts', // shows processes
      'processes/claims.ts',
      'processes/lease.ts',
      'processes/list-instances.ts',
      'processes/live-processes.ts',
    ])
  })

  test('selects named columns, so that a newer release may add others', () => {
    const selecting = files.filter(file =>
      /\b(?:selectAll|returningAll)\(/.test(readFileSync(path.join(PACKAGES, file), 'utf8')),
    )
    expect(selecting).toEqual([])
  })
})
