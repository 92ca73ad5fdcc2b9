import { describe } from 'vitest'
import { describeSending } from '../../src/providers/conformance/sending.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { waitUntil } from '../wait-until.ts'
import { useOffices } from './reach-writing.ts'

const openOffice = useOffices()

describe.each<Cloud>(['global', 'china', 'gcc-high'])('by Graph on %s', cloud => {
  describeSending(async () => {
    const [sender, one, other] = [await openOffice(cloud), await openOffice(cloud), await openOffice(cloud)]
    return {
      from: sender.email,
      recipients: [one.email, other.email],
      connect: async () => ({ sending: sender.sending, [Symbol.asyncDispose]: async () => {} }),
      arrived: (address, count) =>
        waitUntil('the mail', async () => {
          const office = [one, other].find(({ email }) => email === address)!
          const messages = await office.list('inbox')
          if (messages.length < count) return null
          const sources = await Promise.all(messages.map(({ id }) => office.mime(id)))
          return sources.map(source => Buffer.from(source).toString('latin1'))
        }),
      async [Symbol.asyncDispose]() {
        for (const office of [sender, one, other]) await office[Symbol.asyncDispose]()
      },
    }
  })
})
