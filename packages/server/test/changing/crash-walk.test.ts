import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import type { Moment } from '../servers/chaos-faults.ts'
import type { ChaosProxy } from '../servers/chaos-proxy.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { type KillableService, openKillableService } from '../sync/killable-service.ts'
import { arrangeCase, CHANGES, expectDoneOnce, openWalk, type ProxiedWalk, repeatUntilDone } from './walk.ts'
import { casesFor } from '../soak.ts'

const SECONDS = 1_000

let service: KillableService
beforeAll(async () => {
  service = await openKillableService()
}, 300 * SECONDS)
afterAll(() => service[Symbol.asyncDispose]())

/** Kills the service once, when it sends such a command, or when the server has carried it out. */
function killAt(proxy: ChaosProxy, pattern: RegExp, at: Moment) {
  const killed = { isDone: false }
  proxy.faults = {
    judge(moment, command) {
      if (killed.isDone || moment !== at || !pattern.test(command)) return 'pass'
      killed.isDone = true
      service.kill()
      return 'cut'
    },
  }
  return killed
}

describe.each(SERVER_KINDS.filter(({ name }) => name !== 'Cyrus'))('a kill on $name', ({ name, start }) => {
  const useIt = useServer(start)
  const isPoor = name === 'a poor Dovecot'
  let walk: ProxiedWalk
  beforeAll(async () => {
    walk = await openWalk(service.caller, useIt())
  })
  afterAll(() => walk[Symbol.asyncDispose]())

  // Only moves and removals are done in other commands on a poor server.
  const walkedChanges = CHANGES.filter(({ commands }) => !isPoor || commands.poor.length > 0)
  const points = walkedChanges.flatMap(change =>
    change.commands[isPoor ? 'poor' : 'full'].flatMap(pattern =>
      (['asked', 'answered'] as const).map(moment => ({
        what: change.name,
        command: pattern.source.replace('^', ''),
        moment,
        change,
        pattern,
      })),
    ),
  )

  // In CI: a change that was not begun, one that was carried out, and those between the commands that replace a move.
  const inCi = isPoor
    ? ['a move, UID COPY answered', 'a move, EXPUNGE asked']
    : ['a move, UID MOVE answered', 'a removal, UID STORE answered', 'a mark, UID STORE asked']
  test.each(casesFor(points, ({ what, command, moment }) => inCi.includes(`${what}, ${command} ${moment}`)))(
    'of $what, when $command is $moment, loses nothing and does nothing twice',
    async ({ change, pattern, moment }) => {
      const of = await arrangeCase(walk.walked)
      onTestFailed(() => void process.stderr.write(`${service.errors().join('\n')}\n`))
      const killed = killAt(walk.proxy, pattern, moment)

      await repeatUntilDone(change, of)

      expect(killed.isDone).toBe(true)
      // A copy that waits for the removal of its original is a message of its own for the sync.
      const isCopied = isPoor && change.name === 'a move'
      await expectDoneOnce(change, of, { isExact: !isCopied })
    },
  )

  const answered = walkedChanges.map(change => ({ what: change.name, change }))
  test.each(casesFor(answered, ({ what }) => what === 'a new mailbox'))(
    'of $what, after its answer, loses nothing and does nothing twice',
    async ({ change }) => {
      const of = await arrangeCase(walk.walked)
      expect((await change.send(of)).status).toBe(200)
      service.kill()
      // A mailbox that was created is there already.
      await repeatUntilDone(change, of)
      await expectDoneOnce(change, of, { isExact: true })
    },
  )
})
