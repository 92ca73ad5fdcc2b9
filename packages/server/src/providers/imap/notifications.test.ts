import { describe, expect, test } from 'vitest'
import type { Faults } from '../../../test/servers/chaos-faults.ts'
import { startChaosProxy } from '../../../test/servers/chaos-proxy.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld } from '../../../test/servers/world.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import type { ContentRange } from '../content.ts'
import { letters } from '../conformance/arrangement.ts'
import { openIndex } from '../conformance/memory-index.ts'
import { imapAccount } from './mail.ts'
import { NotifyTrust } from './notify-trust.ts'
import { Suspicions } from './suspicions.ts'

const server = useServer(() => startDovecot())
const never = new AbortController().signal
const NOTHING = { arrived: false, changed: false, gone: false }
/** Longer than Dovecot collects changes before it reports them. */
const REPORT_SECONDS = 1.5
const WHOLE: ContentRange = { part: null, isHeader: false, offset: 0, end: null, size: null }
/** For a watch that a report ends. */
const WATCH_SECONDS = 120

/** Lines of the server that are reports, and not answers to LIST. */
interface Reports {
  /** Changes a report, or drops it. */
  change(line: string): string | null
}

/** An account behind a proxy that may change the reports of the server. */
async function arrange({ faults = {}, change = line => line }: { faults?: Faults } & Partial<Reports> = {}) {
  const user = await server().addUser()
  const world = await openWorld(server(), user)
  const reports: Reports = { change }
  let isListing = false
  let exists = 0
  const proxy = await startChaosProxy(server(), {
    ...faults,
    judge(moment, command) {
      if (command.startsWith('LIST')) isListing = moment === 'asked'
      return 'pass'
    },
    rewrite(line) {
      exists = Number(/^\* (\d+) EXISTS/.exec(line)?.[1] ?? exists)
      return !isListing && /^\* (?:STATUS|LIST) /.test(line) ? reports.change(line) : line
    },
  })
  const trust = new NotifyTrust()
  const connect = () =>
    imapAccount({
      endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
      login: user,
      suspicions: new Suspicions(),
      notifyTrust: trust,
      signal: never,
    })
  const account = await connect()
  const { mail, content } = account
  return {
    world,
    mail,
    content,
    /** Number of messages in the open mailbox, as the server last reported it. */
    exists: () => exists,
    reports,
    connect,
    asked: () => proxy.stats.lines.filter(line => line.startsWith('NOTIFY')),
    /** Acts like the follower while nothing happens. */
    async passQuietly() {
      await mail.watch('INBOX', 0.05, never)
      await mail.listMailboxes()
    },
    async [Symbol.asyncDispose]() {
      await account[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

describe.concurrent('a server that reports all changes', () => {
  test('gets one request, before the first list', async () => {
    await using arranged = await arrange()
    await arranged.mail.listMailboxes()
    await arranged.mail.listMailboxes()
    expect(arranged.asked()).toEqual([
      'NOTIFY SET (SELECTED-DELAYED (MessageNew MessageExpunge FlagChange)) ' +
        '(PERSONAL (MessageNew MessageExpunge FlagChange MailboxName))',
    ])
    expect(arranged.mail.watchesAll).toBe(true)
  })

  test('is noticed while another mailbox is watched', async () => {
    await using arranged = await arrange()
    const { world, mail } = arranged
    await mail.listMailboxes()
    const noticed = async (act: () => Promise<unknown>) => {
      const watching = mail.watch('INBOX', WATCH_SECONDS, never)
      await act()
      expect(await watching).toEqual({ ...NOTHING, elsewhere: true })
      await mail.listMailboxes()
    }

    let uid = 0
    await noticed(async () => void ([uid = 0] = await world.deliver(letters(1), 'Archive')))
    await noticed(() => world.flag('Archive', [uid], '\\Flagged'))
    await noticed(() => world.expunge('Archive', [uid]))
    await noticed(() => world.createMailbox('Projects'))
    await noticed(() => world.renameMailbox('Projects', 'Plans'))
    await noticed(() => world.deleteMailbox('Plans'))
  })

  test('is not noticed for subscriptions, nor for changes that a list has shown', async () => {
    await using arranged = await arrange()
    const { world, mail } = arranged
    await world.deliver(letters(1), 'Archive')
    await mail.listMailboxes()

    const watching = mail.watch('INBOX', REPORT_SECONDS, never)
    await world.witness.command('UNSUBSCRIBE Archive')
    await world.witness.command('SUBSCRIBE Archive')
    expect(await watching).toEqual(NOTHING)
  })

  test('still reports the watched mailbox at once', async () => {
    await using arranged = await arrange()
    const { world, mail } = arranged
    await mail.listMailboxes()
    await openIndex('INBOX').follow(mail)
    const watching = mail.watch('INBOX', WATCH_SECONDS, never)
    await world.deliver(letters(1))
    expect(await watching).toEqual({ ...NOTHING, arrived: true })
  })

  test('is noticed for a mailbox that was read for a moment', async () => {
    // The server reports it as the open mailbox only, in the answer to a command that reads from it.
    await using arranged = await arrange({ change: () => null })
    const { world, mail, content, exists } = arranged
    const [key = 0] = await world.deliver(letters(1), 'Archive')
    await mail.listMailboxes()
    const index = openIndex('Archive')
    await index.follow(mail)
    await world.deliver(letters(1, 2), 'Archive')
    await waitUntil('the report', async () => {
      await Array.fromAsync(content.open({ source: 'Archive', cursor: index.cursor, key }, WHOLE))
      return exists() === 2
    })
    expect(await mail.watch('INBOX', WATCH_SECONDS, never)).toMatchObject({ elsewhere: true })
  })

  test('allows ever longer times between passes', async () => {
    await using arranged = await arrange()
    const { mail } = arranged
    await mail.listMailboxes()
    expect(mail.passFactor).toBe(1)
    await arranged.passQuietly()
    expect(mail.passFactor).toBe(4)
    await arranged.passQuietly()
    expect(mail.passFactor).toBe(16)
    // A list without a watch before it proves nothing.
    await mail.listMailboxes()
    expect(mail.passFactor).toBe(16)
  })
})

describe.concurrent('a server that does not report all changes', () => {
  test('is polled if it refuses to', async () => {
    await using arranged = await arrange({ faults: { refusedCommands: [/^NOTIFY\b/] } })
    const { mail } = arranged
    await mail.listMailboxes()
    await arranged.passQuietly()
    await arranged.passQuietly()
    expect(arranged.asked()).toHaveLength(2)
    expect([mail.watchesAll, mail.passFactor]).toEqual([false, 1])
  })

  test('is polled and noticed if it reports only messages that come and go', async () => {
    const faults = {
      refusedCommands: [/^NOTIFY .*FLAGCHANGE/],
      refusal: 'NO [BADEVENT (MessageNew MessageExpunge)] unsupported',
    }
    await using arranged = await arrange({ faults })
    const { world, mail } = arranged
    await mail.listMailboxes()
    const watching = mail.watch('INBOX', WATCH_SECONDS, never)
    await world.deliver(letters(1), 'Archive')
    expect(await watching).toMatchObject({ elsewhere: true })
    expect([mail.watchesAll, mail.passFactor]).toEqual([false, 1])
  })

  test('loses its trust if a pass finds a change that it never reports', async () => {
    await using arranged = await arrange({ change: () => null })
    const { world, mail } = arranged
    await mail.listMailboxes()
    await arranged.passQuietly()
    expect([mail.watchesAll, mail.passFactor]).toEqual([true, 4])

    await world.deliver(letters(1), 'Archive')
    await arranged.passQuietly()
    expect([mail.watchesAll, mail.passFactor]).toEqual([true, 1])
    await arranged.passQuietly()
    expect([mail.watchesAll, mail.passFactor]).toEqual([false, 1])
    await arranged.passQuietly()
    expect([mail.watchesAll, mail.passFactor]).toEqual([false, 1])

    await using again = await arranged.connect()
    await again.mail.listMailboxes()
    expect(again.mail.watchesAll).toBe(false)
  })

  test('keeps its trust if it reports the change a moment later', async () => {
    const kept: string[] = []
    await using arranged = await arrange({ change: line => (kept.push(line), null) })
    const { world, mail, reports } = arranged
    await mail.listMailboxes()
    await world.deliver(letters(1), 'Archive')
    await arranged.passQuietly()
    expect(mail.passFactor).toBe(1)

    // The report of another change replaces the late one.
    reports.change = line => line
    const watching = mail.watch('INBOX', WATCH_SECONDS, never)
    await world.deliver(letters(1, 2), 'Archive')
    expect(await watching).toMatchObject({ elsewhere: true })
    await mail.listMailboxes()
    await arranged.passQuietly()
    expect([mail.watchesAll, mail.passFactor]).toEqual([true, 4])
  })

  test('gets another request when it stops reporting, but not for ever', async () => {
    await using arranged = await arrange({ change: () => '* OK [NOTIFICATIONOVERFLOW] too much' })
    const { world, mail } = arranged
    await mail.listMailboxes()
    for (const number of [1, 2]) {
      const watching = mail.watch('INBOX', WATCH_SECONDS, never)
      await world.deliver(letters(1, number), 'Archive')
      expect(await watching).toMatchObject({ elsewhere: true })
      expect(mail.watchesAll).toBe(false)
      await mail.listMailboxes()
      expect(arranged.asked()).toHaveLength(number + 1)
    }
    const failed = expect(mail.watch('INBOX', WATCH_SECONDS, never)).rejects.toMatchObject({
      kind: 'unavailable',
    })
    await world.deliver(letters(1, 3), 'Archive')
    await failed

    await using again = await arranged.connect()
    await again.mail.listMailboxes()
    expect([arranged.asked().length, again.mail.watchesAll]).toEqual([3, false])
  })

  test('is noticed when it lost reports', async () => {
    await using arranged = await arrange({
      change: () => '* NO NOTIFY error, some events may have got lost',
    })
    const { world, mail } = arranged
    await mail.listMailboxes()
    await arranged.passQuietly()
    const watching = mail.watch('INBOX', WATCH_SECONDS, never)
    await world.deliver(letters(1), 'Archive')
    expect(await watching).toMatchObject({ elsewhere: true })
    expect(mail.passFactor).toBe(1)
  })
})
