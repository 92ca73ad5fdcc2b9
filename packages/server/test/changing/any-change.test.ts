import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { readChangingTruth, readTruth } from '../servers/reference.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { RefusedCommand } from '../servers/witness.ts'
import { openWorld } from '../servers/world.ts'
import { type Disturbance, disturb, furnish, seedsFor } from '../sync/disturbance.ts'
import { connectMailbox } from '../sync/followed-account.ts'
import { type KillableService, openKillableService } from '../sync/killable-service.ts'
import { contentOf, type OtherClient, type OtherClientOptions } from '../sync/other-client.ts'
import { comeToRest, expectFeedToTell, renamedContents, type Rest } from '../sync/rest.ts'
import { openRandomChanges, type RandomChanges } from './random-changes.ts'
import { casesFor } from '../soak.ts'

const SECONDS = 1_000
const CHANGES = 40

let service: KillableService
beforeAll(async () => {
  service = await openKillableService()
}, 300 * SECONDS)
afterAll(() => service[Symbol.asyncDispose]())

/** Flags that only the other client changes; the interface changes `\Seen` and `\Flagged`. */
const OTHER_FLAGS = ['work', 'later', '\\Answered']

/** The last value of each flag that the other client changed, by `content flag`; null if it may have missed. */
type OtherFlags = Map<string, boolean | null>

/** Notes what the other client changed, by what the server has directly afterwards. */
function noteFlags(server: MailServer, user: TestUser, noted: OtherFlags): OtherClientOptions {
  return {
    flags: OTHER_FLAGS,
    async onFlagged({ path, uids, flag, isSet }) {
      const truth = await readChangingTruth(server, user)
      for (const mailbox of truth) {
        for (const { uid, subject, flags } of mailbox.messages) {
          if (mailbox.path !== path || !uids.includes(uid)) continue
          noted.set(`${contentOf(subject)} ${flag}`, flags.includes(flag) === isSet ? isSet : null)
        }
      }
    },
    onRefused(contents, flag) {
      for (const content of contents) noted.set(`${content} ${flag}`, null)
    },
  }
}

/** The other client, when the interface changes the mail at the same time: it looks first, and may be refused. */
function besideOthers(client: OtherClient, server: MailServer, user: TestUser) {
  return {
    async act() {
      await using world = await openWorld(server, user)
      client.lookAgain(world, await readChangingTruth(server, user))
      try {
        return await client.act()
      } catch (error) {
        if (!(error instanceof RefusedCommand)) throw error
        return `other client: ${String(error)}`
      }
    },
  }
}

/** How many copies of each content the server has, and its flags. */
async function readContents(server: MailServer, user: TestUser): Promise<Map<number, string[][]>> {
  const contents = new Map<number, string[][]>()
  for (const { messages } of await readTruth(server, user)) {
    for (const { subject, flags } of messages)
      contents.set(contentOf(subject), [...(contents.get(contentOf(subject)) ?? []), flags])
  }
  return contents
}

/** The values of a field of a content in the order of the feed, from its first event on. */
function toldValues(before: Rest, after: Rest, content: number, field: 'isRead' | 'isFlagged'): boolean[] {
  const known = [...before.state.messages.values()].find(({ subject }) => contentOf(subject) === content)
  const news = after.events.slice(before.events.length).flatMap(({ data: { message, changes } }) => {
    if (!message || contentOf(message.subject) !== content) return []
    return changes === undefined ? [] : changes.includes(field) ? [message[field]] : []
  })
  return [known?.[field] ?? false, ...news]
}

/** A sequence without values that repeat the one before them. */
function changesOf(values: readonly boolean[]): boolean[] {
  return values.filter((value, at) => at === 0 || value !== values[at - 1])
}

interface Done {
  before: Rest
  after: Rest
  client: OtherClient
  changes: RandomChanges
  noted: OtherFlags
  /** Whether the server has MOVE. */
  hasMove: boolean
  /** Whether it moves a message in one step. The MOVE of Cyrus copies first, and removes the original a moment later. */
  movesInOneStep: boolean
  contents: Map<number, string[][]>
}

/** Contents that each side changed only in ways whose outcome is certain. */
function certainContents({ after, client, changes }: Done): number[] {
  const deletedIds = new Set(
    after.events.flatMap(({ type, data }) => (type === 'mailbox.deleted' ? [data.mailbox!.id] : [])),
  )
  const wasInDeleted = new Set(
    after.events.flatMap(({ data: { message } }) =>
      message?.mailboxIds.some(id => deletedIds.has(id)) ? [contentOf(message.subject)] : [],
    ),
  )
  const delivered = new Set([...client.held.values()].flatMap(held => [...held]))
  const uncertain = [client.copied, client.removed, changes.removed, changes.unsure, wasInDeleted]
  return [...delivered].filter(content => !uncertain.some(set => set.has(content)))
}

/** Changes that were lost, done twice or announced wrongly, in words. */
function findFaults(done: Done): string[] {
  const { before, after, client, changes, noted, hasMove, movesInOneStep, contents } = done
  return certainContents(done).flatMap(content => {
    // A change by one client to the original is lost between its copy and its removal by the other.
    const isMovedByBoth = changes.moved.has(content) && client.moved.has(content)
    const copies = contents.get(content) ?? []
    if (copies.length !== 1) return !hasMove && isMovedByBoth ? [] : [`c${content}: ${copies.length} copies`]
    const flags = copies[0]!
    const faults = (['isRead', 'isFlagged'] as const).flatMap(field => {
      const asked = changesOf([false, ...(changes.marks[field].get(content) ?? [])])
      const told = toldValues(before, after, content, field)
      const is = flags.includes(field === 'isRead' ? '\\Seen' : '\\Flagged')
      if (!movesInOneStep && client.moved.has(content))
        return told.join().startsWith(asked.join()) && is === told.at(-1)
          ? []
          : [`c${content}: ${field} is ${is}, told ${told.join()}, asked ${asked.join()}`]
      return [
        ...(is === asked.at(-1) ? [] : [`c${content}: ${field} is ${is}, asked: ${asked.join()}`]),
        ...(told.join() === asked.join()
          ? []
          : [`c${content}: told ${field} ${told.join()}, asked ${asked.join()}`]),
      ]
    })
    const lost = OTHER_FLAGS.filter(flag => {
      const value = noted.get(`${content} ${flag}`) ?? null
      return (
        value !== null && value !== flags.includes(flag) && (movesInOneStep || !changes.moved.has(content))
      )
    })
    return [...faults, ...lost.map(flag => `c${content}: the other client's change of ${flag} is lost`)]
  })
}

/** The one that can do least. */
const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name === 'a poor Dovecot')

describe.each(SERVERS)('after random changes by the interface and by others on $name', ({ name, start }) => {
  const useIt = useServer(start)

  test.each(seedsFor(1))('and kills of the service, nothing is lost or told twice (seed %i)', async seed => {
    const server = useIt()
    const user = await server.addUser()
    const random = seeded(`changes on ${name} ${seed}`)
    await using world = await openWorld(server, user)
    const noted: OtherFlags = new Map()
    const client = await furnish(server, user, world, random, noteFlags(server, user, noted))
    await using proxy = await startChaosProxy(server)
    const accountId = await connectMailbox(service.caller, proxy, user)
    const log: string[] = []
    onTestFailed(() => void process.stderr.write(`${[...log, ...service.errors()].join('\n')}\n`))
    const account = { server, user, accountId }
    const none: Disturbance = { acts: 0, kills: 0, log, failures: [] }
    const before = await comeToRest(service.caller, account, none)

    const changes = openRandomChanges(service.caller, accountId, random.fork('changes'), async path => {
      const there = (await readChangingTruth(server, user)).find(mailbox => mailbox.path === path)
      const seen = there?.messages.map(({ subject }) => contentOf(subject)) ?? []
      return [...seen, ...(client.held.get(path) ?? [])]
    })
    const disturbance: Disturbance = { acts: 40, chance: 0.1, kills: 3, log, failures: [] }
    const other = besideOthers(client, server, user)
    proxy.faults = disturb(service, other, random.fork('others'), disturbance)
    for (let change = 0; change < CHANGES; change++) log.push(await changes.act())
    const after = await comeToRest(service.caller, account, disturbance)

    expect([...disturbance.failures, ...changes.failures]).toEqual([])
    const hasMove = name !== 'a poor Dovecot'
    const movesInOneStep = hasMove && name !== 'Cyrus'
    const contents = await readContents(server, user)
    expect(findFaults({ before, after, client, changes, noted, hasMove, movesInOneStep, contents })).toEqual(
      [],
    )
    expectFeedToTell(before, after)
    expect(renamedContents(client.copied, [before.state, after.state], after.events)).toEqual([])
    await service.caller.delete(`/v1/accounts/${accountId}`)
  })
})
