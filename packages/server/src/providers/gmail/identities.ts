import { z } from 'zod'
import { cleanLine } from '../../kit/mime/text.ts'
import { ProviderFailure } from '../failure.ts'
import { type IdentityProvider, OFFERED_IDENTITIES_MAX, type OfferedIdentity } from '../identities.ts'
import type { GmailApi } from './api.ts'
import { UNITS } from './units.ts'

const NAME_LENGTH_MAX = 256
const SIGNATURE_LENGTH_MAX = 100_000
const ANSWER_BYTES_MAX = 12 * 1024 * 1024

const sendAsSchema = z.object({
  sendAs: z
    .array(
      z.object({
        sendAsEmail: z.string().max(320),
        displayName: z.string().default(''),
        signature: z.string().default(''),
        isPrimary: z.boolean().default(false),
        verificationStatus: z.string().optional(),
      }),
    )
    .default([]),
})

/**
 * The send-as addresses of an account (users.settings.sendAs).
 * @param isGranted whether the user lets them be read
 */
export function gmailIdentities(api: GmailApi, isGranted: () => Promise<boolean>): IdentityProvider {
  return {
    async list() {
      if (!(await isGranted()))
        throw new ProviderFailure('scope_missing', 'Reading the settings of the mailbox was not granted.')
      const { sendAs } = await api.ask({
        path: 'settings/sendAs',
        query: { fields: 'sendAs(sendAsEmail,displayName,signature,isPrimary,verificationStatus)' },
        units: UNITS.settingsRead,
        schema: sendAsSchema,
        answerBytesMax: ANSWER_BYTES_MAX,
      })
      // The address of the account has no state of its own; any other one that is not accepted yet cannot be used.
      const usable = sendAs.filter(
        ({ isPrimary, verificationStatus }) => isPrimary || verificationStatus === 'accepted',
      )
      return usable
        .slice(0, OFFERED_IDENTITIES_MAX)
        .map(({ sendAsEmail, displayName, signature, isPrimary }): OfferedIdentity => ({
          address: sendAsEmail,
          name: cleanLine(displayName, NAME_LENGTH_MAX) || null,
          signatureHtml: signature.trim() === '' ? null : signature.slice(0, SIGNATURE_LENGTH_MAX),
          isPrimary,
        }))
    },
  }
}
