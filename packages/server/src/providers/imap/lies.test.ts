import { describe, expect, test } from 'vitest'
import { startChaosProxy } from '../../../test/servers/chaos-proxy.ts'
import type { Faults } from '../../../test/servers/chaos-faults.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld, type World } from '../../../test/servers/world.ts'
import { openIndex } from '../conformance/memory-index.ts'
import { imapAccount } from './mail.ts'
import { Suspicions } from './suspicions.ts'

const server = useServer(() => startDovecot())

const letters = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => ({
    raw: `Subject: ${from + index}\r\nMessage-ID: <${from + index}@x>\r\n\r\nText\r\n`,
  }))

/** A user's world, and the adapter behind a proxy that changes the server's answers. */
async function arrange(faults: Faults = {}) {
  const user = await server().addUser()
  const world: World = await openWorld(server(), user)
  const proxy = await startChaosProxy(server(), faults)
  const account = await imapAccount({
    endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
    login: user,
    suspicions: new Suspicions(),
    signal: new AbortController().signal,
  })
  return {
    world,
    proxy,
    mail: account.mail,
    async [Symbol.asyncDispose]() {
      await account[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

describe.concurrent('messages that vanished', () => {
  test('are taken from VANISHED if it accounts for all of them, and no others are requested', async () => {
    await using arranged = await arrange()
    const uids = await arranged.world.deliver(letters(20))
    const index = openIndex('INBOX')
    await index.follow(arranged.mail)
    const commands = arranged.proxy.stats.lines.length

    await arranged.world.expunge('INBOX', [uids[3]!, uids[4]!])
    await index.compare(arranged.mail)

    expect(index.messages.size).toBe(18)
    expect(arranged.proxy.stats.lines.slice(commands).filter(line => /VANISHED|SEARCH/.test(line))).toEqual([
      expect.stringMatching(/^UID FETCH .* VANISHED\)$/),
      `UID SEARCH RETURN (ALL) UID ${uids[3]}:${uids[4]}`,
    ])
  })

  test.each([
    ['nothing', () => null],
    ['only one of them', (line: string) => line.replace(/VANISHED \(EARLIER\) .*/, 'VANISHED (EARLIER) 4')],
    ['others', (line: string) => line.replace(/VANISHED \(EARLIER\) .*/, 'VANISHED (EARLIER) 10:11')],
    [
      'everything',
      (line: string) => line.replace(/VANISHED \(EARLIER\) .*/, 'VANISHED (EARLIER) 1:4294967295'),
    ],
    [
      'more than anybody keeps',
      (line: string) =>
        line.replace(
          /VANISHED \(EARLIER\) .*/,
          `VANISHED (EARLIER) ${Array.from({ length: 150_000 }, (_, at) => 2 * at + 1).join(',')}`,
        ),
    ],
    ['nonsense', (line: string) => line.replace(/VANISHED \(EARLIER\) .*/, 'VANISHED (EARLIER) x:y')],
  ])('are found by comparison if VANISHED reports %s', async (_, lie) => {
    await using arranged = await arrange({
      rewrite: line => (line.includes('VANISHED (EARLIER)') ? lie(line) : line),
    })
    const uids = await arranged.world.deliver(letters(20))
    const index = openIndex('INBOX')
    await index.follow(arranged.mail)

    await arranged.world.expunge('INBOX', [uids[3]!, uids[4]!])
    await index.compare(arranged.mail)

    expect(index.keys()).toEqual(uids.filter(uid => uid !== uids[3] && uid !== uids[4]))
  })
})

describe.concurrent('mod-sequences', () => {
  test.each([
    ['that go back', (line: string) => line.replace(/HIGHESTMODSEQ \d+/, 'HIGHESTMODSEQ 1')],
    ['that are gone', (line: string) => line.replace(/^\* OK \[HIGHESTMODSEQ.*/, '* OK [NOMODSEQ] none')],
  ])('%s lead to a comparison of all flags', async (_, lie) => {
    await using arranged = await arrange()
    const uids = await arranged.world.deliver(letters(3))
    const index = openIndex('INBOX')
    await index.follow(arranged.mail)

    await arranged.world.flag('INBOX', [uids[1]!], '\\Seen')
    arranged.proxy.faults = { rewrite: lie }
    await index.compare(arranged.mail)

    expect(index.messages.get(uids[1]!)?.isRead).toBe(true)
    const flags = index.steps.flatMap(step => (step.type === 'states' ? step.changes : []))
    expect(flags.map(({ key }) => key)).toEqual([uids[1]])
  })
})

describe.concurrent('an answer that a server leaves out or adds', () => {
  test('an invalid cursor starts from the beginning', async () => {
    await using arranged = await arrange()
    await arranged.world.deliver(letters(2))
    const index = openIndex('INBOX')
    index.cursor = { version: 1, uidNext: 'many' }

    await index.follow(arranged.mail)

    expect(index.steps[0]?.type).toBe('reset')
    expect(index.messages.size).toBe(2)
  })

  test('UIDNEXT may be missing', async () => {
    await using arranged = await arrange({
      rewrite: line => (line.startsWith('* OK [UIDNEXT') ? null : line),
    })
    const uids = await arranged.world.deliver(letters(3))
    const index = openIndex('INBOX')
    await index.follow(arranged.mail)

    uids.push(...(await arranged.world.deliver(letters(2, 4))))
    await index.follow(arranged.mail)

    expect(index.keys()).toEqual(uids)
  })

  test('a line over the limit of a response ends the connection, not the service', async () => {
    await using arranged = await arrange({
      rewrite: line => (line.startsWith('* ESEARCH') ? `* ${'x'.repeat(5_000_000)}` : line),
    })
    await arranged.world.deliver(letters(3))

    await expect(openIndex('INBOX').follow(arranged.mail)).rejects.toMatchObject({
      name: 'ProviderFailure',
      kind: 'unavailable',
    })
  })

  test.each([
    ['a hundred thousand flags', `FLAGS (${'k '.repeat(100_000)}`],
    ['a keyword of 100 KB', `FLAGS (${'k'.repeat(100_000)}`],
  ])('a message with %s is unreadable, and hides no other', async (_, flags) => {
    await using arranged = await arrange({
      rewrite: line => (/FETCH \(UID 2 /.test(line) ? line.replace('FLAGS (', flags) : line),
    })
    const uids = await arranged.world.deliver(letters(3))
    const index = openIndex('INBOX')

    await index.follow(arranged.mail)

    expect(index.keys()).toEqual([uids[0], uids[2]])
    expect([...index.unreadable.keys()]).toEqual([uids[1]])
  })

  test.each([
    ['beyond 63 bits', '99999999999999999999'],
    ['beyond what JSON can say', '9007199254740993'],
    ['that is no number', 'Infinity'],
    ['below zero', '-1'],
  ])('a message of a size %s is there', async (_, size) => {
    await using arranged = await arrange({
      rewrite: line =>
        /FETCH \(UID 2 /.test(line)
          ? line
              .replace(/RFC822\.SIZE \d+/, `RFC822.SIZE ${size}`)
              .replace(/INTERNALDATE "[^"]*"/, 'INTERNALDATE " 1-Jan-99999 00:00:00 +0000"')
          : line,
    })
    const uids = await arranged.world.deliver(letters(3))
    const index = openIndex('INBOX')

    await index.follow(arranged.mail)

    expect(index.keys()).toEqual(uids)
    expect(index.messages.get(uids[1]!)?.size).toBe(0)
    expect(index.messages.get(uids[1]!)?.receivedAt.getUTCFullYear()).toBeLessThan(10_000)
  })

  test('an answer that cannot be parsed makes its message unreadable', async () => {
    await using arranged = await arrange({
      rewrite: line => (/FETCH \(UID 2 /.test(line) ? line.replace('FETCH (UID', 'FETCH ((((UID') : line),
    })
    const uids = await arranged.world.deliver(letters(3))
    const index = openIndex('INBOX')

    await index.follow(arranged.mail)

    expect(index.keys()).toEqual([uids[0], uids[2]])
    expect([...index.unreadable.keys()]).toEqual([uids[1]])
  })
})

describe.concurrent('a single new message', () => {
  /** An index of three messages, whose mailbox is not the open one any more. */
  async function arrangeThree() {
    const arranged = await arrange()
    const uids = await arranged.world.deliver(letters(3))
    const index = openIndex('INBOX')
    await index.follow(arranged.mail)
    await arranged.world.createMailbox('Other')
    await openIndex('Other').follow(arranged.mail)
    return { ...arranged, uids, index, commands: arranged.proxy.stats.lines.length }
  }

  test('is fetched by the next UID, without a search', async () => {
    await using arranged = await arrangeThree()
    const { world, mail, proxy, uids, index, commands } = arranged
    uids.push(...(await world.deliver(letters(1, 4))))

    await index.bring(mail)

    expect(index.keys()).toEqual(uids)
    expect(proxy.stats.lines.slice(commands).map(line => /^(?:UID )?\w+/.exec(line)?.[0])).toEqual([
      'EXAMINE',
      'UID FETCH',
    ])
  })

  test('is found if it has a later UID', async () => {
    await using arranged = await arrangeThree()
    const { world, mail, uids, index } = arranged
    await world.expunge('INBOX', await world.deliver(letters(1, 4)))
    uids.push(...(await world.deliver(letters(1, 5))))

    await index.bring(mail)

    expect(index.keys()).toEqual(uids)
  })

  test('hides no other that an old one made room for', async () => {
    await using arranged = await arrangeThree()
    const { world, mail, uids, index } = arranged
    await world.expunge('INBOX', [uids[0]!])
    uids.push(...(await world.deliver(letters(2, 4))))

    await index.bring(mail)

    expect(index.keys()).toEqual(uids)
  })
})

describe.concurrent('names of mailboxes', () => {
  const NAMES = [
    'with "quotes"',
    String.raw`back\slash`,
    '100 % *',
    'a (b) {3}',
    'NIL',
    'R&D',
    'Ünïcødé 台北',
    "'; A1 LOGOUT",
  ]

  test('reach the server unchanged, with one command each', async () => {
    await using arranged = await arrange()
    for (const [index, name] of NAMES.entries()) {
      await arranged.world.createMailbox(name)
      await arranged.world.deliver(letters(1, index), name)
    }
    const mailboxes = await arranged.mail.listMailboxes()
    const commands = arranged.proxy.stats.lines.length

    for (const name of NAMES) {
      const source = mailboxes.find(mailbox => mailbox.path === name)?.source
      const index = openIndex(source ?? 'not listed')
      await index.compare(arranged.mail)
      expect(index.cursor, name).toMatchObject({ exists: 1 })
    }

    expect(arranged.proxy.stats.lines.slice(commands).map(line => line.split(' ')[0])).toEqual(
      NAMES.map(() => 'EXAMINE'),
    )
  })
})
