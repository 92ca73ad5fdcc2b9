import { describe, expect, test } from 'vitest'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import { breakOff, expectSame, isFetch, letter, useMailboxes } from './arranged-mailbox.ts'
import { tokensFor } from './reach-sandbox.ts'

const arrange = useMailboxes()

const HOUR_MS = 3_600_000

describe('an expired history', () => {
  test('reports nothing of a message that changed while labels were listed', async () => {
    await using arranged = await arrange(20)
    const { client, server, email } = arranged
    let asks = Number.NEGATIVE_INFINITY
    const [some] = await client.messages()
    const tokens = await tokensFor(server, email, async () => {
      if (++asks === 4) await client.modify(some!.id, { add: ['STARRED', 'IMPORTANT'] })
    })
    await using account = arranged.connect({ tokens })
    const index = openIndex('history')
    await index.follow(account.mail)
    const held = new Map(index.messages)
    await client.modify(some!.id, { remove: ['UNREAD'] })
    await server.expireHistory(email)
    await index.compare(account.mail)
    for (const [key, message] of held) index.messages.set(key, message)
    index.takeSteps()
    asks = 0
    await index.bring(account.mail)
    expect(asks).toBeGreaterThan(4)
    const parts = index.takeSteps().flatMap(step => (step.type === 'page' ? step.steps : []))
    const told = parts.flatMap(part => (part.type === 'states' ? part.changes.map(({ key }) => key) : []))
    expect(told).not.toContain(some!.id)
    expect(told.length).toBe(held.size - 1)
  })

  test('is made up for by listing labels, which fetches only what is missing', async () => {
    await using arranged = await arrange(300)
    const { client, server, email } = arranged
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.follow(account.mail)
    const known = new Map(index.messages)
    const [first, second] = await client.messages()
    await client.delete(first!.id)
    await client.modify(second!.id, { add: ['STARRED', 'IMPORTANT'], remove: ['UNREAD'] })
    const { id } = await client.insert(letter(1), ['INBOX'])
    await server.expireHistory(email)
    await arranged.takeCalls()

    await index.compare(account.mail)
    expect(index.takeSteps().at(-1)).toMatchObject({ type: 'reset', keys: 'kept' })
    // The index keeps its rows, and waits for them to be named.
    for (const [key, message] of known) index.messages.set(key, message)
    expect(account.mail.isComplete(index.cursor, null)).toBe(false)
    await index.bring(account.mail)
    expect(account.mail.isComplete(index.cursor, null)).toBe(true)
    index.messages.delete(first!.id)
    await expectSame(index, client)
    const calls = await arranged.takeCalls()
    expect(calls.filter(isFetch)).toEqual([`GET messages/${id}`])
  })

  test('is made up for from the newest mail on, with what was not recorded at first', async () => {
    await using arranged = await arrange(700)
    const { client, server, email } = arranged
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.follow(account.mail)
    const held = new Map(index.messages)
    for (const { id } of await client.messages())
      if (held.has(id)) await client.modify(id, { add: ['STARRED'] })
    const { id: newest } = await client.insert(letter(1), ['INBOX'])
    await server.expireHistory(email)
    await index.compare(account.mail)
    for (const [key, message] of held) index.messages.set(key, message)
    const brought: boolean[] = []
    for (let isDone = false; !isDone;) {
      await breakOff(account.mail, index)
      isDone = await index.bring(account.mail, 1)
      brought.push(index.messages.has(newest))
    }
    expect(brought.indexOf(true)).toBeLessThan(brought.length / 2)
    await expectSame(index, client)
  })

  test('is made up for once an hour, and new mail comes meanwhile', async () => {
    await using arranged = await arrange(10)
    const { client, server, email, clock } = arranged
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.follow(account.mail)
    const listings = async () => (await arranged.takeCalls()).filter(call => call === 'GET messages').length
    const heal = async () => {
      const held = new Map(index.messages)
      await index.compare(account.mail)
      const isReset = index.takeSteps().some(({ type }) => type === 'reset')
      for (const [key, message] of held) if (!index.messages.has(key)) index.messages.set(key, message)
      await index.bring(account.mail)
      return isReset
    }
    const expire = async () => {
      await client.modify((await client.messages())[0]!.id, { add: ['STARRED'] })
      await server.expireHistory(email)
    }
    await expire()
    expect(await heal()).toBe(true)
    await listings()
    for (let times = 0; times < 5; times += 1) {
      await expire()
      const { id } = await client.insert(letter(times), ['INBOX'])
      await server.expireHistory(email)
      expect(await heal()).toBe(false)
      expect(index.messages.has(id)).toBe(true)
      expect(await listings()).toBe(1)
    }
    clock.now += HOUR_MS
    expect(await heal()).toBe(true)
    expect(await heal()).toBe(false)
    await expectSame(index, client)
  })
})
