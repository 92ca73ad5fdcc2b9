import { expect, test } from 'vitest'
import { microsoft } from '../../src/microsoft/microsoft.ts'
import type { BeginProvider } from '../../src/world/provider.ts'
import { requireUser } from '../../src/world/users.ts'
import { openWorld } from '../../src/world/world.ts'
import { letter } from '../letter.ts'

test('fills a small mailbox when somebody first asks for it, and a large one at once', async () => {
  const filled: string[] = []
  const start = await microsoft.start()
  /** Notes the streams of random numbers that mail is made from. */
  const begin: BeginProvider = (ground, ...more) => {
    const stream = (name: string) => {
      if (name.startsWith('mail of ')) filled.push(name)
      return ground.random.stream(name)
    }
    return start({ ...ground, random: { ...ground.random, stream } }, ...more)
  }
  const users = [
    { email: 'eva@office.test', messages: 20 },
    { email: 'finn@office.test', messages: 20 },
    { email: 'archive@office.test', messages: 501 },
  ].map(user => ({ ...user, provider: 'microsoft' }))
  const world = openWorld({ users }, [{ provider: microsoft, begin }], {})
  expect(filled).toEqual(['mail of archive@office.test'])
  const eva = requireUser(world.users, 'eva@office.test')
  world.post.deliver(eva, { message: letter({ Subject: 'New' }), from: null })
  expect(filled).toEqual(['mail of archive@office.test', 'mail of eva@office.test'])
  world.close()
})
