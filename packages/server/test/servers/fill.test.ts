import { describe, expect, test } from 'vitest'
import { generateMail } from '../mail/corpus.ts'
import { fillMailboxes } from './fill.ts'
import { readTruth } from './reference.ts'
import { SERVER_KINDS, useServer } from './shared-server.ts'

describe.each(SERVER_KINDS)('on $name', ({ start }) => {
  const server = useServer(start)

  test('the server holds exactly the generated mail', async () => {
    const user = await server().addUser()
    const filled = await fillMailboxes(server(), user, generateMail({ seed: 3, count: 1000 }))

    const truth = await readTruth(server(), user)

    const told = truth.flatMap(({ path, messages }) => messages.map(message => [path, message] as const))
    const byPlace = new Map(told.map(([path, message]) => [`${path} ${message.uid}`, message]))
    expect(told).toHaveLength(filled.length)
    for (const { path, uid, raw, internalDate, flags, expected, kind, fitsStrictServer } of filled) {
      const message = byPlace.get(`${path} ${uid}`)
      expect(message, kind).toMatchObject({ internalDate, flags: flags.toSorted() })
      expect(message?.messageId ?? null, kind).toBe(expected.internetMessageId)
      // Bare line feeds count for two.
      if (fitsStrictServer) expect(message?.size, kind).toBe(raw.length)
    }
  })
})
