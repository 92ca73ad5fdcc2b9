import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import type { Moment } from '../servers/chaos-faults.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { type KillableService, openKillableService } from '../sync/killable-service.ts'
import {
  arrangeCase,
  type Case,
  type Change,
  CHANGES,
  expectDoneOnce,
  openWalk,
  type ProxiedWalk,
  repeatUntilDone,
} from './walk.ts'

const SECONDS = 1_000
const MOMENTS = ['asked', 'answered'] as const

let service: KillableService
beforeAll(async () => {
  // Each account has a connection of the sync and one of its changes, and none waits for another's.
  service = await openKillableService({ WAXWING_CONNECTIONS_PER_HOST: '100' })
}, 300 * SECONDS)
afterAll(() => service[Symbol.asyncDispose]())

/** A change on an account of its own, and the commands that carry it out there. */
interface Walker {
  what: string
  change: Change
  commands: readonly RegExp[]
  /** Whether a copy waits for the removal of its original, and is a message of its own for the sync. */
  isCopied: boolean
  walk(): ProxiedWalk
}

const walkers: Walker[] = SERVER_KINDS.filter(({ name }) => name !== 'Cyrus').flatMap(({ name, start }) => {
  const useIt = useServer(start)
  const isPoor = name === 'a poor Dovecot'
  // Only moves and removals are done in other commands on a poor server.
  const walkedChanges = CHANGES.filter(({ commands }) => !isPoor || commands.poor.length > 0)
  const walks: ProxiedWalk[] = []
  beforeAll(async () => {
    walks.push(...(await Promise.all(walkedChanges.map(() => openWalk(service.caller, useIt())))))
  })
  afterAll(async () => void (await Promise.all(walks.map(walk => walk[Symbol.asyncDispose]()))))
  return walkedChanges.map((change, nth) => ({
    what: `${change.name} on ${name}`,
    change,
    commands: change.commands[isPoor ? 'poor' : 'full'],
    isCopied: isPoor && change.name === 'a move',
    walk: () => walks[nth]!,
  }))
})

/** The moment of a change at which the service is killed. */
interface Point extends Walker {
  command: RegExp
  moment: Moment
}

const commandsMax = Math.max(...walkers.map(({ commands }) => commands.length))

/** One kill for each moment of each command, counted from the first one: of all changes that have so many commands. */
const KILLS = Array.from({ length: commandsMax }, (_, nth) =>
  MOMENTS.map(moment => {
    const points = walkers.flatMap((walker): Point[] => {
      const command = walker.commands[nth]
      return command ? [{ ...walker, command, moment }] : []
    })
    const shown = points.map(({ what, command }) => `${what} (${command.source.replace('^', '')})`).join(', ')
    return { nth: nth + 1, moment, shown, points }
  }),
).flat()

/**
 * Kills the service once, when each change is at its point: the server does not have its command yet, or has carried it
 * out while the service does not have the answer. Those that come first wait for the others.
 */
function killAtAll(points: readonly Point[]) {
  const reached = new Set<Point>()
  for (const point of points) {
    const { command, moment, walk } = point
    walk().proxy.faults = {
      judge(at, asked) {
        if (reached.has(point) || at !== moment || !command.test(asked)) return 'pass'
        reached.add(point)
        if (reached.size === points.length) killNow(points)
        return 'swallow'
      },
    }
  }
  return reached
}

function killNow(points: readonly Walker[]) {
  service.kill()
  for (const { walk } of points) {
    const { proxy } = walk()
    proxy.faults = {}
    proxy.cutAll()
  }
}

/**
 * Lets no change send its last command before the others are there, too: then all have their answers within a moment,
 * before the sync sees what they have done. A move by a copy waits before it, since the sync would meet the copy.
 */
function holdLastCommands() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = new Set<Walker>()
  for (const walker of walkers) {
    const command = walker.commands.at(walker.isCopied ? 0 : -1)!
    walker.walk().proxy.faults = {
      hold(words) {
        if (!command.test(words.replace(/^\S+ /, ''))) return undefined
        held.add(walker)
        if (held.size === walkers.length) resolve()
        return promise
      },
    }
  }
  return held
}

async function arrangeAll<W extends Walker>(all: readonly W[]): Promise<Array<W & { of: Case }>> {
  onTestFailed(() => void process.stderr.write(`${service.errors().join('\n')}\n`))
  return Promise.all(all.map(async walker => ({ ...walker, of: await arrangeCase(walker.walk().walked) })))
}

test.each(KILLS)(
  'a kill when command $nth is $moment loses nothing and does nothing twice: $shown',
  async ({ points }) => {
    const arranged = await arrangeAll(points)
    const kills = service.killCount
    const reached = killAtAll(points)

    await Promise.all(arranged.map(({ change, of }) => repeatUntilDone(change, of)))

    expect(reached.size).toBe(points.length)
    expect(service.killCount).toBe(kills + 1)
    await Promise.all(
      arranged.map(({ change, of, isCopied }) => expectDoneOnce(change, of, { isExact: !isCopied })),
    )
  },
)

test('a kill after the answers to all changes loses nothing and does nothing twice', async () => {
  const arranged = await arrangeAll(walkers)
  const held = holdLastCommands()
  const answers = await Promise.all(arranged.map(({ change, of }) => change.send(of)))
  killNow(walkers)

  expect(answers.map(({ status }) => status)).toEqual(walkers.map(() => 200))
  expect(held.size).toBe(walkers.length)
  // A mailbox that was created is there already.
  await Promise.all(arranged.map(({ change, of }) => repeatUntilDone(change, of)))
  await Promise.all(arranged.map(({ change, of }) => expectDoneOnce(change, of, { isExact: true })))
})
