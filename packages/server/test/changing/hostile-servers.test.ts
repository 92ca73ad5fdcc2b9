import type { Message } from '@waxwing/contract/mail/messages.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestApp } from '../open-app.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { readChangingTruth } from '../servers/reference.ts'
import { useServer } from '../servers/shared-server.ts'
import { openSyncApp, readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import {
  arrangeCase,
  type Change,
  CHANGES,
  expectDoneOnce,
  expectUnchanged,
  openWalk,
  type ProxiedWalk,
  repeatUntilDone,
  rest,
} from './walk.ts'
import { casesFor } from '../soak.ts'

const SECONDS = 1_000
const UNAVAILABLE = 'provider_unavailable'
const REJECTED = 'provider_rejected'

let app: TestApp
beforeAll(async () => {
  // Each account has a connection of the sync and one of its changes, and none waits for another's.
  app = await openSyncApp({ roles: ['api', 'sync', 'jobs'], config: { connectionsPerHost: 100 } })
})
afterAll(() => app[Symbol.asyncDispose]())

const changeOf = (name: string) => CHANGES.find(change => change.name === name)!

/** Answers to a command that was not carried out, and the code of each but the first. */
const ANSWERS: ReadonlyArray<readonly [answer: string, code: string]> = [
  ['BYE see you', UNAVAILABLE],
  ['MAYBE later', UNAVAILABLE],
  ['NO [X (((((', UNAVAILABLE],
  ['NO [AUTHENTICATIONFAILED] who are you', UNAVAILABLE],
  [`NO ${'long '.repeat(1_000)}`, REJECTED],
  ['BAD what', REJECTED],
]
const PARTLY = 'NO [EXPUNGEISSUED] Some of the requested messages no longer exist.'

/** Answers to a change after an OK that is not true, and after a refusal that imapflow takes for one. */
const LIES: ReadonlyArray<readonly [name: string, ok: string, partly: string]> = [
  ['a mark', REJECTED, REJECTED],
  ['a move', REJECTED, 'provider_conflict'],
  ['a removal', REJECTED, REJECTED],
  ['a new mailbox', UNAVAILABLE, 'provider_conflict'],
  ['a renaming', UNAVAILABLE, 'provider_conflict'],
  ['the deletion of a mailbox', REJECTED, 'provider_conflict'],
]

/** Has a command answered by the proxy in each of these ways, and expects each code; then that nothing was changed. */
async function expectRefusals(
  { walked, proxy }: ProxiedWalk,
  change: Change,
  command: RegExp,
  answers: ReadonlyArray<readonly [answer: string, code: string]>,
) {
  const of = await arrangeCase(walked)
  for (const [answer, code] of answers) {
    proxy.faults = { refusedCommands: [command], refusal: answer }
    const { body } = await change.send(of)
    expect({ answer, body }).toMatchObject({ answer, body: { code } })
  }
  proxy.faults = {}
  await expectUnchanged(of)
  return of
}

/** For tests that play faults on one proxy, beside those of the other groups. */
const ONE_BY_ONE = { concurrent: false }

describe('answers that are not true', { concurrent: true }, () => {
  const useIt = useServer(() => startDovecot())
  const usePoor = useServer(() => startDovecot({ flavour: 'poor' }))
  let walk: ProxiedWalk
  let refusing: ProxiedWalk
  let poor: ProxiedWalk
  beforeAll(async () => {
    // The sync of one account may not be asked for as often as all of these tests together do.
    const all = [openWalk(app, useIt()), openWalk(app, useIt()), openWalk(app, usePoor())] as const
    ;[walk, refusing, poor] = await Promise.all(all)
  })
  afterAll(async () => {
    await walk[Symbol.asyncDispose]()
    await refusing[Symbol.asyncDispose]()
    await poor[Symbol.asyncDispose]()
  })

  test.each(casesFor(LIES, ([name]) => name === 'a move' || name === 'a new mailbox'))(
    'leave %s undone and refused, whatever they say, until it is done once',
    ONE_BY_ONE,
    async (name, ok, partly) => {
      const change = changeOf(name)
      const of = await expectRefusals(refusing, change, change.commands.full[0]!, [
        ['OK done', ok],
        [PARTLY, partly],
        ...ANSWERS,
      ])
      await repeatUntilDone(change, of)
      await expectDoneOnce(change, of, { isExact: true })
    },
  )

  test('to COPY do not make a server without MOVE lose the originals', ONE_BY_ONE, async () => {
    const change = changeOf('a move')
    const of = await expectRefusals(poor, change, /^UID COPY/, [
      ['OK done', UNAVAILABLE],
      [PARTLY, 'provider_conflict'],
      ['OK [COPYUID 1 2 3] done', UNAVAILABLE],
      ...ANSWERS,
    ])
    // The copy is made, and the original stays: the repetition removes it.
    poor.proxy.faults = { refusedCommands: [/^EXPUNGE/], refusal: 'OK done' }
    expect((await change.send(of)).body).toMatchObject({ code: REJECTED })
    poor.proxy.faults = {}
    await repeatUntilDone(change, of)
    await expectDoneOnce(change, of, { isExact: false })
  })

  test.each([
    ['zero', (validity: string, from: string) => `${validity} ${from} 0`],
    ['the number of another message', (validity: string, from: string) => `${validity} ${from} 1`],
    ['another numbering', (_: string, from: string, to: string) => `99 ${from} ${to}`],
    [
      'more numbers than messages',
      (validity: string, from: string, to: string) => `${validity} ${from} ${to}:99`,
    ],
    [
      'another message',
      (validity: string, from: string, to: string) => `${validity} ${Number(from) + 7} ${to}`,
    ],
  ])('COPYUID with %s moves the message once', ONE_BY_ONE, async (_, lie) => {
    const change = changeOf('a move')
    const of = await arrangeCase(walk.walked)
    walk.proxy.faults = {
      rewrite: line =>
        line.replace(
          /\[COPYUID (\d+) (\S+) (\S+)\]/,
          (_match, ...code: [string, string, string]) => `[COPYUID ${lie(...code)}]`,
        ),
    }
    expect((await change.send(of)).status).toBe(200)
    walk.proxy.faults = {}
    await expectDoneOnce(change, of, { isExact: true })
  })

  /** Subjects of the drafts on the server. */
  async function draftsOf({ walked: { server, user, world } }: ProxiedWalk) {
    const drafts = (await readChangingTruth(server, user)).find(({ path }) => path === world.at('Drafts'))
    return drafts?.messages.map(({ subject }) => subject) ?? []
  }

  test('APPENDUID with the number of another message leaves that one alone', ONE_BY_ONE, async () => {
    const { walked, proxy } = walk
    const { accountId, world } = walked
    const path = `/v1/accounts/${accountId}/drafts`
    const raw = 'Subject: theirs\r\nMessage-ID: <theirs@case.test>\r\n\r\nHello\r\n'
    const [uid = 0] = await world.deliver({ raw }, world.at('Drafts'))
    const before = await rest(walked)
    const theirs = (await readMessages(app, accountId)).find(({ subject }) => subject === 'theirs')!
    const ids: string[] = []
    for (const lie of [uid, 0, '1:9']) {
      proxy.faults = { rewrite: line => line.replace(/\[APPENDUID (\d+) \S+\]/, `[APPENDUID $1 ${lie}]`) }
      const { status, body } = await app.post<Message>(path, { subject: `ours ${lie}`, text: 'Hello' })
      expect(status).toBe(200)
      ids.push(body.id)
    }
    proxy.faults = {}
    await rest(walked)
    expect(new Set([theirs.id, ...ids]).size).toBe(4)
    for (const id of ids)
      expect((await app.put(`${path}/${id}`, { subject: 'ours', text: 'Bye' })).status).toBe(200)

    const after = await rest(walked)
    expect((await draftsOf(walk)).toSorted()).toEqual(['ours', 'ours', 'ours', 'theirs'])
    expect(after.state.messages.get(theirs.id)).toEqual(before.state.messages.get(theirs.id))
    for (const id of ids) expect((await app.delete(`${path}/${id}`)).status).toBe(200)
  })

  test('to APPEND, before the message was sent, are a failure', ONE_BY_ONE, async () => {
    const path = `/v1/accounts/${walk.walked.accountId}/drafts`
    const before = await draftsOf(walk)
    for (const refusal of ['OK [APPENDUID 1 9] done', 'BYE see you', PARTLY]) {
      walk.proxy.faults = { refusedCommands: [/^APPEND/], refusal }
      const { status } = await app.post(path, { subject: 'never there', text: 'Hello' })
      expect(status).toBeGreaterThanOrEqual(400)
    }
    walk.proxy.faults = {}
    await rest(walk.walked)
    expect(await draftsOf(walk)).toEqual(before)
  })
})

const TAGGED = /^[0-9A-F]+ (?:OK|NO|BAD)\b/

/** State from before a change that a server shows once, and the command to which it shows it. */
interface Late {
  name: string
  command: RegExp
  shownTo: RegExp
  /** @param asked the command that made the change */
  show(line: string, asked: string): string | null
}

const stillThere = (line: string, asked: string) =>
  line.replace(/^(\* ESEARCH .*\bUID\b).*/, `$1 ALL ${asked.split(' ')[2]}`)
const LATE: readonly Late[] = [
  {
    name: 'a mark',
    command: /^UID STORE/,
    shownTo: /^UID STORE/,
    show: line => line.replace(/FLAGS \([^)]*\)/, 'FLAGS ()'),
  },
  { name: 'a move', command: /^UID MOVE/, shownTo: /^UID SEARCH/, show: stillThere },
  { name: 'a removal', command: /^UID EXPUNGE/, shownTo: /^UID SEARCH/, show: stillThere },
  {
    name: 'a renaming',
    command: /^RENAME/,
    shownTo: /^LIST/,
    show: line => (/^\* LIST .* new"?$/.test(line) ? null : line),
  },
  {
    name: 'the deletion of a mailbox',
    command: /^DELETE/,
    shownTo: /^LIST/,
    show: (line, asked) =>
      TAGGED.test(line) ? `* LIST (\\HasNoChildren) "/" ${asked.slice('DELETE '.length)}\r\n${line}` : line,
  },
]

describe('servers that report little of their changes, and late', { concurrent: true }, () => {
  const useIt = useServer(() => startDovecot())
  let walk: ProxiedWalk
  beforeAll(async () => {
    walk = await openWalk(app, useIt())
  })
  afterAll(() => walk[Symbol.asyncDispose]())

  test.each(casesFor(LATE, ({ name }) => name === 'a move' || name === 'a renaming'))(
    'have carried out $name',
    ONE_BY_ONE,
    async ({ name, command, shownTo, show }) => {
      const change = changeOf(name)
      const of = await arrangeCase(walk.walked)
      const { proxy } = walk
      const begun = proxy.stats.lines.length
      let isShown = false
      proxy.faults = {
        hiddenCodes: ['COPYUID'],
        rewrite(line) {
          const asked = proxy.stats.lines.slice(begun).findLast(text => command.test(text))
          if (isShown || asked === undefined || !shownTo.test(proxy.stats.lines.at(-1) ?? '')) return line
          isShown = TAGGED.test(line)
          return show(line, asked)
        },
      }
      const { status, body } = await change.send(of)
      proxy.faults = {}
      expect(status, JSON.stringify({ body, lines: proxy.stats.lines.slice(begun) })).toBe(200)
      await expectDoneOnce(change, of, { isExact: false })
    },
  )
})

describe('a server without MOVE and UIDPLUS', { concurrent: true }, () => {
  const useIt = useServer(() => startDovecot({ flavour: 'poor' }))

  test('has moved a message, which keeps its id, though the sync has met the copy beside the original', async () => {
    await using walk = await openWalk(app, useIt())
    const change = changeOf('a move')
    const of = await arrangeCase(walk.walked)
    const { accountId } = walk.walked
    const ofSubject = async () =>
      (await readMessages(app, accountId)).filter(({ subject }) => subject === of.name)
    const meet = async () => {
      await app.post(`${of.path}/sync`)
      await waitUntil('the sync to meet the copy', async () => (await ofSubject()).length === 2)
    }
    let met: Promise<void> | null = null
    walk.proxy.faults = {
      hold: words => (/ STORE .*\\Deleted/.test(words) ? (met ??= meet()) : undefined),
    }

    const answer = await change.send(of)

    expect(answer).toMatchObject({ status: 200, body: { id: of.message.id, mailboxIds: [of.mailbox.id] } })
    expect(met).not.toBe(null)
    await expectDoneOnce(change, of, { isExact: false })
    expect(await ofSubject()).toMatchObject([{ id: of.message.id, mailboxIds: [of.mailbox.id] }])
  })
})

/** A server sends one of these without end when it is asked to change something. */
const FLOODS: ReadonlyArray<readonly [name: string, text: string]> = [
  ['a mark', '* 1 FETCH (UID 1 BODY[] {1073741824}\r\nxxxxxxxxxxxxxxxx'],
  ['a move', '* 1 EXPUNGE\r\n'],
  ['a removal', `* 1 FETCH (UID 1 FLAGS (${'k '.repeat(1_000)}k))\r\n`],
  ['a new mailbox', 'Z1 OK done\r\n'],
  ['a renaming', '* NO [ALERT] wait\r\n'],
  ['the deletion of a mailbox', 'x'.repeat(1_024)],
]
const MEMORY_BYTES_MAX = 400 * 1024 * 1024

// Alone: they measure the memory of the process.
describe('servers that send endlessly', { concurrent: false }, () => {
  const useIt = useServer(() => startDovecot())

  test(
    'when they are asked for a change, fail that change, and delay no other account',
    { timeout: 600 * SECONDS },
    async () => {
      const other = await app.createTenant('other')
      await using opened = new AsyncDisposableStack()
      const asked = await Promise.all(
        casesFor(FLOODS, (_, at) => at % 3 === 0).map(async ([name, text]) => {
          const walk = opened.use(await openWalk(app, useIt()))
          return { walk, text, change: changeOf(name), of: await arrangeCase(walk.walked) }
        }),
      )
      const before = process.memoryUsage().rss
      let waiting = asked.length
      const answers = asked.map(async ({ walk, text, change, of }) => {
        walk.proxy.faults = { flood: { command: change.commands.full[0]!, text } }
        const { body } = await change.send(of)
        walk.proxy.faults = {}
        waiting -= 1
        expect({ what: change.name, body }).toMatchObject({ body: { code: UNAVAILABLE } })
      })
      const all = Promise.all(answers)
      // A rejection is reported below, where the promise is awaited.
      all.catch(() => {})
      await waitUntil(
        'the answers',
        async () => {
          expect((await other.get('/v1/settings')).status).toBe(200)
          return waiting === 0
        },
        300,
      )

      await all
      expect(process.memoryUsage().rss - before).toBeLessThan(MEMORY_BYTES_MAX)
      await Promise.all(
        asked.map(async ({ change, of }) => {
          await repeatUntilDone(change, of)
          await expectDoneOnce(change, of, { isExact: true })
        }),
      )
    },
  )
})
