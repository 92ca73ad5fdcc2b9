import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startChaosProxy, type ChaosProxy } from '../servers/chaos-proxy.ts'
import type { Faults, Moment } from '../servers/chaos-faults.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import type { TestApp } from '../open-app.ts'
import { connectMailbox, openSyncApp, waitForFirstSync } from '../sync/followed-account.ts'
import {
  arrangeCase,
  CHANGES,
  expectDoneOnce,
  expectUnchanged,
  repeatUntilDone,
  type Walked,
} from './walk.ts'

const SECONDS = 1_000

let app: TestApp
beforeAll(async () => {
  app = await openSyncApp()
})
afterAll(() => app[Symbol.asyncDispose]())

describe.each(SERVER_KINDS.filter(({ name }) => name !== 'Cyrus'))('changes on $name', ({ name, start }) => {
  const useIt = useServer(start)
  const isPoor = name === 'a poor Dovecot'
  let walked: Walked
  let proxy: ChaosProxy
  const opened = new AsyncDisposableStack()
  beforeAll(async () => {
    const server = useIt()
    const user = await server.addUser()
    const world = opened.use(await openWorld(server, user))
    proxy = opened.use(await startChaosProxy(server))
    const accountId = await connectMailbox(app, proxy, user)
    await waitForFirstSync(app, accountId)
    walked = { caller: app, server, user, world, accountId }
  }, 60 * SECONDS)
  afterAll(async () => {
    await app.delete(`/v1/accounts/${walked.accountId}`)
    await opened.disposeAsync()
  })

  const commands = CHANGES.flatMap(change =>
    change.commands[isPoor ? 'poor' : 'full'].map(pattern => ({
      what: change.name,
      command: pattern.source.replace('^', ''),
      change,
      pattern,
    })),
  )

  test.each(commands.flatMap(one => (['asked', 'answered'] as const).map(moment => ({ ...one, moment }))))(
    '$what is provider_unavailable if the connection breaks when $command is $moment, and can be repeated',
    { timeout: 120 * SECONDS },
    async ({ change, pattern, moment }) => {
      const of = await arrangeCase(walked)
      proxy.faults = cutOnce(pattern, moment)
      expect(await change.send(of)).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
      await repeatUntilDone(change, of)
      const isCopied = isPoor && change.name === 'a move'
      await expectDoneOnce(change, of, { isExact: !isCopied })
    },
  )

  test.each(
    commands
      .filter(({ command }) => !/EXPUNGE/.test(command))
      .flatMap((one, at) => (at === 0 ? REFUSALS : [FULL]).map(refusal => ({ ...one, ...refusal }))),
  )(
    '$what is $code if the server refuses $command with $refusal, and changes nothing',
    { timeout: 120 * SECONDS },
    async ({ change, pattern, refusal, code }) => {
      const of = await arrangeCase(walked)
      proxy.faults = { refusedCommands: [pattern], refusal: `NO ${refusal}` }
      const { body } = await change.send(of)
      proxy.faults = {}
      expect(body).toMatchObject({ code })
      // The copy that a server without MOVE has made stays until the request is repeated.
      const isCopied = isPoor && change.name === 'a move' && !/COPY/.test(pattern.source)
      if (!isCopied) return expectUnchanged(of)
      await repeatUntilDone(change, of)
      await expectDoneOnce(change, of, { isExact: false })
    },
  )

  test('a slow server delays the answer, and nothing else', { timeout: 120 * SECONDS }, async () => {
    for (const change of CHANGES) {
      const of = await arrangeCase(walked)
      proxy.faults = { latencyMs: 100 }
      expect((await change.send(of)).status).toBe(200)
      proxy.faults = {}
      await expectDoneOnce(change, of, { isExact: true })
    }
  })
})

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
