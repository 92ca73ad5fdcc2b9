import { ImapFlow } from 'imapflow'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Faults } from './chaos-faults.ts'
import { startChaosProxy } from './chaos-proxy.ts'
import { startDovecot } from './dovecot.ts'
import type { MailServer, TestUser } from './mail-server.ts'
import { openWitness } from './witness.ts'
import { openWorld } from './world.ts'

let server: MailServer
let user: TestUser

beforeAll(async () => {
  server = await startDovecot()
  user = await server.addUser()
  await using world = await openWorld(server, user)
  const body = 'A line of text that fills the message.\r\n'.repeat(500)
  await world.deliver(Array.from({ length: 10 }, (_, index) => ({ raw: `Subject: ${index}\r\n\r\n${body}` })))
})
afterAll(() => server[Symbol.asyncDispose]())

async function openThrough(faults: Faults, seed = 1) {
  const proxy = await startChaosProxy(server, faults, seed)
  const through = { host: proxy.host, directPort: proxy.port }
  return {
    proxy,
    connect: () => openWitness(through, user),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}

async function fetchUids(
  witness: Awaited<ReturnType<typeof openWitness>>,
  set = '1:*',
  items = 'BODY.PEEK[]',
) {
  await witness.command('EXAMINE INBOX')
  const { untagged } = await witness.command(`UID FETCH ${set} (UID ${items})`)
  return untagged.filter(([, kind]) => kind === 'FETCH').length
}

describe('a chaos proxy', () => {
  test('without faults changes nothing, literals included', async () => {
    await using chaos = await openThrough({})
    await using witness = await chaos.connect()
    const raw = Buffer.from('Subject: {12}\r\n\r\nA1 IDLE\r\n* BYE {99}\r\n\u0080ÿ')

    await witness.command('CREATE Copies')
    await witness.command('APPEND Copies ', raw)
    await witness.command('EXAMINE Copies')
    const { untagged } = await witness.command('UID FETCH 1 (BODY.PEEK[])')

    expect(untagged.flat(2).find(Buffer.isBuffer)).toEqual(raw)
    expect(chaos.proxy.stats.commands).toEqual(
      new Map(['LOGIN', 'CREATE', 'APPEND', 'EXAMINE', 'UID FETCH'].map(name => [name, 1])),
    )
    expect(chaos.proxy.stats.lines.join()).not.toContain(user.password)
  })

  test('hides capabilities and refuses commands, with what they carry', async () => {
    await using chaos = await openThrough({
      hiddenCapabilities: ['MOVE'],
      refusedCommands: [/^(UID MOVE|APPEND)\b/],
    })
    await using witness = await chaos.connect()

    const { untagged } = await witness.command('CAPABILITY')
    expect(untagged.flat()).toContain('IDLE')
    expect(untagged.flat()).not.toContain('MOVE')
    await expect(witness.command('UID MOVE 1 Trash')).rejects.toThrow('BAD Unknown command')
    await expect(witness.command('APPEND INBOX ', Buffer.from('a NOOP\r\n'))).rejects.toThrow('BAD')
    await witness.command('NOOP')
  })

  test('lets a client that waits with its literals go on after a refusal of the server', async () => {
    await using chaos = await openThrough({ hiddenCapabilities: ['LITERAL+'] })
    const client = new ImapFlow({
      host: chaos.proxy.host,
      port: chaos.proxy.port,
      auth: { user: user.user, pass: user.password },
      logger: false,
    })
    await client.connect()

    await expect(client.append('Nowhere', 'Subject: x\r\n\r\n')).rejects.toThrow()
    expect(await client.append('Sent', 'Subject: x\r\n\r\n')).toMatchObject({ uid: expect.any(Number) })
    await client.logout()
  })

  test('cuts after a drawn number of lines, the same for the same seed, and stops after cutsMax', async () => {
    const cutLines = async (seed: number) => {
      await using chaos = await openThrough({ cutAfterLines: { from: 5, to: 60 }, cutsMax: 2 }, seed)
      const counts: number[] = []
      for (let attempt = 0; attempt < 3; attempt++) {
        const witness = await chaos.connect()
        let lines = 0
        witness.onUntagged = () => lines++
        for (let index = 0; index < 60; index++)
          await witness.command('STATUS INBOX (MESSAGES)').catch(() => 0)
        counts.push(lines)
        await witness[Symbol.asyncDispose]()
      }
      expect(chaos.proxy.stats.cuts).toBe(2)
      return counts
    }

    const first = await cutLines(7)
    expect(first[2]).toBe(60)
    expect(await cutLines(7)).toEqual(first)
    expect(await cutLines(8)).not.toEqual(first)
  })

  test('cuts in the middle of a literal', async () => {
    await using chaos = await openThrough({ cutAfterBytes: { from: 30_000, to: 30_000 } })
    const witness = await chaos.connect()

    await expect(fetchUids(witness)).rejects.toThrow('closed the connection')
    expect(chaos.proxy.stats.cuts).toBe(1)
  })

  test('falls silent in IDLE and keeps the connection open', async () => {
    await using chaos = await openThrough({ isSilentAfterIdle: true })
    await using witness = await chaos.connect()
    await witness.command('SELECT INBOX')
    const heard = vi.fn()
    const idle = witness.command('IDLE').catch(() => 'closed')
    await vi.waitFor(() => expect(chaos.proxy.stats.lines).toContain('IDLE'), { timeout: 60_000 })
    witness.onUntagged = heard

    await using world = await openWorld(server, user)
    await world.deliver({ raw: 'Subject: unheard\r\n\r\n' }, 'INBOX')
    const state = await Promise.race([idle, new Promise(resolve => setTimeout(resolve, 1200, 'open'))])

    expect(state).toBe('open')
    expect(heard).not.toHaveBeenCalled()
    chaos.proxy.cutAll()
    expect(await idle).toBe('closed')
  })

  test('accepts connections and never sends a byte', async () => {
    await using chaos = await openThrough({ isSilent: true })
    const attempt = chaos.connect()
    await vi.waitFor(() => expect(chaos.proxy.stats.connections).toBe(1), { timeout: 60_000 })
    const state = await Promise.race([attempt, new Promise(resolve => setTimeout(resolve, 200, 'waiting'))])

    expect(state).toBe('waiting')
    chaos.proxy.cutAll()
    await expect(attempt).rejects.toThrow('closed the connection')
  })

  test('poisons a message: cut, refused or left out, while flags can still be read', async () => {
    await using chaos = await openThrough({ poison: { uids: [3, 7], does: 'omit' } })
    await using witness = await chaos.connect()
    expect(await fetchUids(witness, '1:10')).toBe(8)
    expect(await fetchUids(witness, '3')).toBe(0)
    expect(await fetchUids(witness, '1:10', 'FLAGS')).toBe(10)

    chaos.proxy.faults = { poison: { uids: [3], does: 'refuse' } }
    await expect(fetchUids(witness, '2:4')).rejects.toThrow('NO')
    expect(await fetchUids(witness, '4:5')).toBe(2)

    chaos.proxy.faults = { poison: { uids: [3], does: 'cut' } }
    expect(await fetchUids(witness, '1:2')).toBe(2)
    await expect(fetchUids(witness, '1:*')).rejects.toThrow('closed the connection')
  })

  test('is late, slow, lies, and sends clients away', async () => {
    await using chaos = await openThrough({ latencyMs: 40 })
    await using witness = await chaos.connect()
    const took = async (work: () => Promise<unknown>) => {
      const start = performance.now()
      await work()
      return performance.now() - start
    }
    expect(await took(() => witness.command('NOOP'))).toBeGreaterThan(35)

    chaos.proxy.faults = { bytesPerSecond: 100_000 }
    expect(await took(() => fetchUids(witness, '1:2'))).toBeGreaterThan(350)

    chaos.proxy.faults = { rewrite: line => line.replace(/EXISTS$/, 'EXISTED') }
    expect((await witness.command('EXAMINE INBOX')).untagged.flat()).toContain('EXISTED')

    chaos.proxy.faults = { byeAtGreeting: '[LIMIT] Too many connections' }
    await expect(chaos.connect()).rejects.toThrow('BYE [LIMIT] Too many connections')
    expect(chaos.proxy.stats).toMatchObject({ connectionsMax: 2 })
    chaos.proxy.byeAll()
    await expect(witness.command('NOOP')).rejects.toThrow('BYE Server is shutting down')
    await vi.waitFor(() => expect(chaos.proxy.stats.connections).toBe(0), { timeout: 60_000 })
  })
})
