import { ImapFlow } from 'imapflow'
import { createTransport } from 'nodemailer'
import { describe, expect, test } from 'vitest'
import { startCyrus } from './cyrus.ts'
import { startDovecot } from './dovecot.ts'
import type { MailServer, TestUser } from './mail-server.ts'
import { startPostfix } from './postfix.ts'
import { readTruth } from './reference.ts'
import { SERVER_KINDS } from './shared-server.ts'
import { startSmtpSink } from './smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import { openWitness, RefusedCommand } from './witness.ts'
import { openWorld } from './world.ts'
import { casesFor, SOAK } from '../soak.ts'

function message(number: number) {
  const head = `From: =?utf-8?q?J=C3=B6rg?= <joerg@a.test>\r\nTo: you@b.test\r\nSubject: message ${number}`
  return {
    raw: `${head}\r\nMessage-ID: <${number}@a.test>\r\n\r\nHello\r\n`,
    internalDate: new Date(1.7e12 + number * 1000),
  }
}

async function connectAsClient(server: MailServer, { user, password }: TestUser, secure = false) {
  const port = secure ? (server.tlsPort ?? 0) : server.port
  const tls = server.ca ? { ca: server.ca } : {}
  const client = new ImapFlow({
    host: server.host,
    port,
    secure,
    tls,
    auth: { user, pass: password },
    logger: false,
  })
  await client.connect()
  return client
}

async function listCapabilities(server: MailServer, secure = false) {
  const client = await connectAsClient(server, await server.addUser(), secure)
  const names = [...client.capabilities.keys()]
  await client.logout()
  return names
}

describe('startDovecot', () => {
  test('gives a server with the extensions of a good one, and its special mailboxes', async () => {
    await using server = await startDovecot()

    expect(await listCapabilities(server)).toEqual(
      expect.arrayContaining([
        'CONDSTORE',
        'QRESYNC',
        'IDLE',
        'MOVE',
        'UIDPLUS',
        'SPECIAL-USE',
        'NOTIFY',
        'LIST-STATUS',
      ]),
    )
    const truth = await readTruth(server, await server.addUser())
    expect(truth.map(({ path, attributes }) => [path, attributes.at(-1)])).toEqual([
      ['Archive', '\\archive'],
      ['Drafts', '\\drafts'],
      ['INBOX', '\\hasnochildren'],
      ['Junk', '\\junk'],
      ['Sent', '\\sent'],
      ['Trash', '\\trash'],
    ])
  })

  test('serves TLS and STARTTLS under an authority of its own', async () => {
    await using server = await startDovecot({ tls: true })

    expect(await listCapabilities(server, true)).toContain('IDLE')
    const client = await connectAsClient(server, await server.addUser())
    expect(client.secureConnection).toBe(true)
    await client.logout()
    const stranger = { ...server, ca: null }
    await expect(connectAsClient(stranger, await server.addUser(), true)).rejects.toThrow(/certificate/)
  })

  test('as a poor server has nothing but IMAP4rev1, and refuses the rest', async () => {
    await using server = await startDovecot({ flavour: 'poor' })
    const user = await server.addUser()

    expect(await listCapabilities(server)).toEqual(['IMAP4rev1'])
    await using witness = await openWitness({ host: server.host, directPort: server.port }, user)
    const refused = ['IDLE', 'NAMESPACE', 'UID MOVE 1 INBOX', 'ENABLE QRESYNC', 'SELECT INBOX (CONDSTORE)']
    for (const command of refused) {
      await expect(witness.command(command), command).rejects.toThrow('BAD Unknown command')
    }
    await expect(witness.command('CREATE Projects')).rejects.toThrow(RefusedCommand)
    await witness.command('CREATE INBOX.Projects')
    const { untagged, text } = await witness.command('SELECT INBOX')
    expect([...untagged.map(String), text].join('\n')).not.toMatch(/HIGHESTMODSEQ/)
  })

  test('runs several independent servers at once', SOAK, async () => {
    await using first = await startDovecot()
    await using second = await startDovecot()
    const user = await first.addUser('anna')

    await expect(openWitness(second, user)).rejects.toThrow(RefusedCommand)
  })
})

describe('startPostfix', () => {
  test('takes mail of a user of Dovecot, and delivers it there and to other servers', async () => {
    await using dovecot = await startDovecot()
    await using poor = await startDovecot({ flavour: 'poor', domain: 'poor.test' })
    await using cyrus = await startCyrus()
    await using postfix = await startPostfix(dovecot, { tls: true, beside: [poor, cyrus] })
    const user = await dovecot.addUser()
    const others = [
      { server: poor, other: await poor.addUser() },
      { server: cyrus, other: await cyrus.addUser() },
    ]
    const transport = createTransport({
      host: postfix.host,
      port: postfix.port,
      requireTLS: true,
      tls: { ca: postfix.ca ?? '' },
      auth: { user: user.user, pass: user.password },
    })
    const valid = [user.email, ...others.map(({ other }) => other.email)]
    const to = [...valid, `nobody@${dovecot.domain}`, `greylist@${dovecot.domain}`, 'someone@elsewhere.test']

    const sent = await transport.sendMail({ envelope: { from: user.email, to }, raw: message(1).raw })

    expect(sent.accepted).toEqual(valid)
    expect(sent.rejectedErrors?.map(error => error.responseCode)).toEqual([550, 450, 554])
    for (const { server, other } of [{ server: dovecot, other: user }, ...others])
      await waitUntil('the message', async () => {
        const truth = await readTruth(server, other)
        return truth.find(({ path }) => path === 'INBOX')?.messages[0]?.messageId === '<1@a.test>'
      })
  })

  test('sends nothing for a stranger', async () => {
    await using dovecot = await startDovecot()
    await using postfix = await startPostfix(dovecot)
    const transport = createTransport({ host: postfix.host, port: postfix.port, ignoreTLS: true })
    const envelope = { from: 'a@elsewhere.test', to: `bob@${dovecot.domain}` }
    await expect(transport.sendMail({ envelope, raw: message(1).raw })).rejects.toThrow(/554/)
  })
})

describe('startSmtpSink', () => {
  test('keeps what it accepts in a journal, and only that', async () => {
    await using sink = await startSmtpSink()
    const transport = createTransport({ host: '127.0.0.1', port: sink.port, ignoreTLS: true })
    const raw = `${message(1).raw}.\r\n..\r\n`
    const send = (to: string) => transport.sendMail({ envelope: { from: 'a@a.test', to }, raw })

    await send('b@b.test')
    sink.behave = ({ step, argument }) => (step === 'dot' && argument === '<1@a.test>' ? '451 later' : null)
    await expect(send('c@b.test')).rejects.toThrow('451')
    sink.behave = ({ step, times }) => (step === 'dot' && times === 3 ? { does: 'accept_and_drop' } : null)
    await expect(send('d@b.test')).rejects.toThrow()

    expect((await sink.accepted()).map(({ from, to, content }) => ({ from, to, content }))).toEqual([
      { from: 'a@a.test', to: ['b@b.test'], content: raw },
      { from: 'a@a.test', to: ['d@b.test'], content: raw },
    ])
  })
})

describe('startCyrus', () => {
  test('gives a server with ids of messages and threads', async () => {
    await using server = await startCyrus({ tls: true })

    expect(await listCapabilities(server, true)).toEqual(
      expect.arrayContaining(['CONDSTORE', 'QRESYNC', 'IDLE', 'MOVE', 'UIDPLUS', 'SPECIAL-USE', 'OBJECTID']),
    )
  })
})

const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name === 'Dovecot')

describe.each(SERVERS)('another client on $name', ({ start }) => {
  test('delivers, flags, moves, copies and expunges, and the truth shows it', async () => {
    await using server = await start()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    const projects = world.at('Projekte für Ümit & Co')

    const uids = await world.deliver([1, 2, 3, 4, 5, 6].map(message))
    await world.createMailbox(projects)
    await world.flag('INBOX', [1, 2], '\\Seen', 'work')
    await world.unflag('INBOX', [2], '\\Seen')
    const moved = await world.move('INBOX', [1, 2], projects)
    await world.copy('INBOX', [3], projects)
    await world.expunge('INBOX', [4])

    expect(uids).toEqual([1, 2, 3, 4, 5, 6])
    expect(moved).toEqual([1, 2])
    const truth = new Map((await readTruth(server, user)).map(mailbox => [mailbox.path, mailbox]))
    expect(truth.get('INBOX')?.messages.map(({ uid }) => uid)).toEqual([3, 5, 6])
    expect(truth.get('INBOX')?.unseenCount).toBe(3)
    expect(truth.get(projects)?.messages).toMatchObject([
      { uid: 1, flags: ['\\Seen', 'work'], messageId: '<1@a.test>', subject: 'message 1' },
      { uid: 2, flags: ['work'], internalDate: message(2).internalDate, size: message(2).raw.length },
      { uid: 3, flags: [], from: [{ name: '=?utf-8?q?J=C3=B6rg?=', address: 'joerg@a.test' }] },
    ])
  })

  test('renames, renumbers and deletes mailboxes', async () => {
    await using server = await start()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    const [before, after] = [world.at('Before'), world.at('After')]
    await world.createMailbox(before)
    await world.deliver(message(1), before)
    const find = async (path: string) =>
      (await readTruth(server, user)).find(mailbox => mailbox.path === path)
    const first = await find(before)

    await world.renameMailbox(before, after)
    await world.renumber(after)

    const second = await find(after)
    expect(second?.uidValidity).not.toBe(first?.uidValidity)
    expect(second?.messages).toMatchObject([
      { messageId: '<1@a.test>', internalDate: message(1).internalDate },
    ])
    await world.deleteMailbox(after)
    expect(await find(after)).toBeUndefined()
  })

  test('is logged out by a kick, and by then by its old password', async () => {
    await using server = await start()
    const user = await server.addUser()
    await using world = await openWorld(server, user)

    const changed = await server.setPassword(user, 'another')
    await server.kick(user)

    await expect(world.uids('INBOX')).rejects.toThrow(/closed the connection|BYE/)
    await expect(openWitness(server, user)).rejects.toThrow(RefusedCommand)
    await using again = await openWorld(server, changed)
    expect(await again.uids('INBOX')).toEqual([])
  })
})
