import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath, pathId, queryBoolean, singleLine, text, timestamp, uuid } from '../shapes.ts'
import { mailAddress } from './address-input.ts'

/** Characters of each part of a signature. */
const SIGNATURE_CHARACTERS_MAX = 100_000

export const signature = z
  .object({ html: z.string().nullable(), text: z.string().nullable() })
  .describe('Text below a message, for its HTML and its text part.')
  .meta({ id: 'Signature' })
export type Signature = z.infer<typeof signature>

export const identity = z
  .object({
    id: uuid,
    name: z.string().nullable().describe('The display name in From, if a send names none.'),
    address: z.string(),
    source: z
      .enum(['primary', 'provider', 'custom'])
      .describe(
        '`primary`: the account’s own address. `provider`: an address that the provider offers. `custom`: ' +
          'added here.',
      ),
    signature: signature.nullable().describe('The signature that was set here.'),
    providerSignature: signature
      .nullable()
      .describe('The signature that was set at the provider; used if `signature` is null.'),
  })
  .meta({ id: 'Identity' })
export type Identity = z.infer<typeof identity>

const signaturePart = text({ max: SIGNATURE_CHARACTERS_MAX }).nullish()
const signatureInput = z
  .strictObject({ html: signaturePart, text: signaturePart })
  .nullish()
  .describe('Replaces the whole signature: a part that is absent is null. Null removes the signature.')
export type SignatureInput = z.infer<typeof signatureInput>

const nameInput = singleLine({ max: 256 }).nullish()

const identityPath = accountPath.extend({ identityId: pathId.describe('The identity’s `id`.') })

export const identities = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/identities',
    scope: 'read',
    accountToken: true,
    summary: 'List the addresses that the account may send from.',
    description:
      'Returns all identities in one answer: the account’s own address first, then those that the provider ' +
      'offers (Gmail) or that were added here, oldest first. The provider’s list is read when it is a day old. ' +
      'Works in any status of the account; one that cannot be reached answers what was read last.',
    refuses: ['account_not_found'],
    params: accountPath,
    query: z.strictObject({
      refresh: queryBoolean
        .optional()
        .describe(
          'Ask the provider again, at most once a minute. An IMAP server has no list of identities, so it ' +
            'changes nothing.',
        ),
    }),
    output: z
      .object({
        items: z.array(identity),
        refreshedAt: timestamp
          .nullable()
          .describe('When the provider’s list was read; null if the provider has none, as on IMAP.'),
      })
      .meta({ id: 'IdentityCollection' }),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/identities',
    scope: 'write',
    accountToken: true,
    audit: 'identity.create',
    makes: 'identityId',
    summary: 'Add an address that the account may send from.',
    description:
      'Whether the server accepts the address shows when a message is sent. Addresses are compared in lower ' +
      'case. Indexed messages from the address become `outbound` soon afterwards, each announced by ' +
      '`message.updated`. At most 100 identities can be added, with signatures of 10 MiB together.',
    refuses: ['account_not_found', 'identities_managed_by_provider', 'identity_exists'],
    params: accountPath,
    body: z.strictObject({ name: nameInput, address: mailAddress, signature: signatureInput }),
    output: identity,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/identities/{identityId}',
    scope: 'write',
    accountToken: true,
    audit: 'identity.update',
    summary: 'Change the name or the signature of an identity.',
    description:
      'Only the fields that are present change. The name of the account’s own address is its `displayName` ' +
      'and cannot be changed here.',
    refuses: ['account_not_found', 'identity_not_found', 'identity_not_custom', 'identity_unavailable'],
    params: identityPath,
    body: z.strictObject({
      name: nameInput.describe('Custom identities only.'),
      signature: signatureInput,
    }),
    output: identity,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/identities/{identityId}',
    scope: 'write',
    accountToken: true,
    audit: 'identity.delete',
    summary: 'Delete an identity that was added.',
    description:
      'Messages that were sent from it become `inbound` unless they are in a mailbox of sent mail, each ' +
      'announced by `message.updated`.',
    refuses: ['account_not_found', 'identity_not_found', 'identity_not_custom'],
    params: identityPath,
    output: z.null(),
  }),
}
