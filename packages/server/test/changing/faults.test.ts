import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Faults, Moment } from '../servers/chaos-faults.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import type { TestApp } from '../open-app.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import {
  arrangeCase,
  type Change,
  CHANGES,
  expectDoneOnce,
  expectUnchanged,
  openWalk,
  type ProxiedWalk,
  repeatUntilDone,
} from './walk.ts'
import { casesFor, SOAK } from '../soak.ts'

let app: TestApp
beforeAll(async () => {
  app = await openSyncApp({
    // Each account has a connection of the sync and one of its changes, and none waits for another's.
    config: { connectionsPerHost: 100 },
    // The sync looks when it is asked to, so that it does not meet the copy of a message that is being moved.
    pace: { pollSeconds: 60, passFactorMax: 1 },
  })
})
afterAll(() => app[Symbol.asyncDispose]())

const DOVECOTS = SERVER_KINDS.filter(({ name }) => name !== 'Cyrus')

describe.each(casesFor(DOVECOTS, ({ name }) => name === 'a poor Dovecot'))(
  'changes on $name',
  ({ name, start }) => {
    const useIt = useServer(start)
    const isPoor = name === 'a poor Dovecot'
    /** An account for each change: its mailboxes stay few, and it may ask for the sync as often as it needs. */
    const walks = new Map<Change, ProxiedWalk>()
    beforeAll(async () => {
      const open = async (change: Change) => void walks.set(change, await openWalk(app, useIt()))
      await Promise.all(CHANGES.map(open))
    })
    afterAll(
      async () => void (await Promise.all([...walks.values()].map(walk => walk[Symbol.asyncDispose]()))),
    )

    const commands = CHANGES.flatMap(change =>
      change.commands[isPoor ? 'poor' : 'full'].map(pattern => ({
        what: change.name,
        command: pattern.source.replace('^', ''),
        change,
        pattern,
      })),
    )

    const moments = commands.flatMap(one =>
      (['asked', 'answered'] as const).map(moment => ({ ...one, moment })),
    )
    test.each(casesFor(moments, (_, at) => at % 3 === 0))(
      '$what is provider_unavailable if the connection breaks when $command is $moment, and can be repeated',
      async ({ change, pattern, moment }) => {
        const walk = walks.get(change)!
        const of = await arrangeCase(walk.walked)
        walk.proxy.faults = cutOnce(pattern, moment)
        expect(await change.send(of)).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
        await repeatUntilDone(change, of)
        const isCopied = isPoor && change.name === 'a move'
        await expectDoneOnce(change, of, { isExact: !isCopied })
      },
    )

    const refusals = commands
      .filter(({ command }) => !/EXPUNGE/.test(command))
      .flatMap((one, at) => (at === 0 ? REFUSALS : [FULL]).map(refusal => ({ ...one, ...refusal })))
    test.each(casesFor(refusals, (_, at) => (isPoor ? at % 3 === 0 : at < REFUSALS.length)))(
      '$what is $code if the server refuses $command with $refusal, and changes nothing',
      async ({ change, pattern, refusal, code }) => {
        const walk = walks.get(change)!
        const of = await arrangeCase(walk.walked)
        walk.proxy.faults = { refusedCommands: [pattern], refusal: `NO ${refusal}` }
        const { body } = await change.send(of)
        walk.proxy.faults = {}
        expect(body).toMatchObject({ code })
        // The copy that a server without MOVE has made stays until the request is repeated.
        const isCopied = isPoor && change.name === 'a move' && !/COPY/.test(pattern.source)
        if (!isCopied) return expectUnchanged(of)
        await repeatUntilDone(change, of)
        await expectDoneOnce(change, of, { isExact: false })
      },
    )

    test('marks of one message at once are each recorded once', isPoor ? SOAK : {}, async () => {
      const [mark] = CHANGES
      const walk = walks.get(mark!)!
      const of = await arrangeCase(walk.walked)
      // All of them have read the message before the first is recorded.
      walk.proxy.faults = { latencyMs: 100 }
      const patch = (body: object) => app.patch(`${of.path}/messages/${of.message.id}`, body)
      const answers = await Promise.all([{ isRead: true }, { isFlagged: true }, { isRead: true }].map(patch))
      walk.proxy.faults = {}
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
      const marks = {
        ...mark!,
        truth: () => ({
          ...mark!.truth(of),
          messages: [`INBOX: ${of.name} \\Flagged \\Seen`, `${of.name}: kept ${of.name}`],
        }),
        events: () => [`message.updated ${of.name} isFlagged`, `message.updated ${of.name} isRead`],
      }
      await expectDoneOnce(marks, of, { isExact: true })
    })

    test('a slow server delays the answer, and nothing else', isPoor ? SOAK : {}, async () => {
      await Promise.all(
        [...walks].map(async ([change, { walked, proxy }]) => {
          const of = await arrangeCase(walked)
          proxy.faults = { latencyMs: 100 }
          expect((await change.send(of)).status, change.name).toBe(200)
          proxy.faults = {}
          await expectDoneOnce(change, of, { isExact: true })
        }),
      )
    })
  },
)

const FULL = { refusal: '[OVERQUOTA] Full', code: 'provider_rejected' }
const REFUSALS = [
  FULL,
  { refusal: '[NOPERM] No', code: 'provider_forbidden' },
  { refusal: '[INUSE] Busy', code: 'provider_unavailable' },
]

function cutOnce(pattern: RegExp, at: Moment): Faults {
  let isCut = false
  return {
    judge(moment, command) {
      if (isCut || moment !== at || !pattern.test(command)) return 'pass'
      isCut = true
      return 'cut'
    },
  }
}
