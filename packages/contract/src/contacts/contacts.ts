import { z } from 'zod'
import { CHANGING_REASONS } from '../mail/changing-reasons.ts'
import { operation } from '../operation.ts'
import {
  accountPath,
  collectionOf,
  cursor,
  download,
  pageLimit,
  pageOf,
  pathId,
  singleLine,
  timestamp,
  uuid,
  uuidInput,
} from '../shapes.ts'
import { birthday, contactFields, emailType, phoneType } from './contact-input.ts'

export const contact = z
  .object({
    id: uuid,
    folderId: uuid.nullable().describe('Null if the provider has no folders of contacts.'),
    displayName: z.string().nullable(),
    givenName: z.string().nullable(),
    middleName: z.string().nullable(),
    familyName: z.string().nullable(),
    nickname: z.string().nullable(),
    organization: z.string().nullable(),
    jobTitle: z.string().nullable(),
    department: z.string().nullable(),
    emails: z.array(z.object({ address: z.string(), type: emailType })),
    phones: z.array(z.object({ number: z.string(), type: phoneType })),
    birthday: birthday.nullable().describe('`--MM-DD` without a year.'),
    notes: z.string().nullable(),
    hasPhoto: z.boolean().nullable().describe('Null while it is not known.'),
    updatedAt: timestamp,
  })
  .meta({ id: 'Contact' })
export type Contact = z.infer<typeof contact>

/** The values of `changes` in `contact.updated`. A change of `updatedAt` alone is no event. */
export const contactChange = contact.omit({ id: true, updatedAt: true }).keyof()
export type ContactChange = z.infer<typeof contactChange>

export const contactFolder = z
  .object({
    id: uuid,
    name: z.string(),
    isDefault: z
      .boolean()
      .describe('Whether contacts are created there unless a request names another folder.'),
  })
  .meta({ id: 'ContactFolder' })
export type ContactFolder = z.infer<typeof contactFolder>

/** What the events `contacts.*` and `contact.*` announce. */
export const announcedContacts = {
  'contacts.initialized': z.object({ folders: z.int(), contacts: z.int() }),
  'contact.created': z.object({ contact }),
  'contact.updated': z.object({ contact, changes: z.array(contactChange) }),
  'contact.deleted': z.object({ contact: contact.describe('As last indexed.') }),
}

const contactPath = accountPath.extend({ contactId: pathId.describe('The contact’s `id`.') })
const READING_REASONS = ['account_not_found', 'contacts_disabled'] as const

export const contacts = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/contacts',
    scope: 'read',
    module: 'contacts',
    accountToken: true,
    summary: 'List or search the contacts of an account.',
    description:
      'Read from the index, in the order of the display name without regard to case; a contact without one ' +
      'stands by its given and family name, its organization, or its first address.',
    refuses: [...READING_REASONS, 'unknown_contact_folder', 'invalid_cursor'],
    params: accountPath,
    query: z.strictObject({
      q: singleLine({ min: 1, max: 200 })
        .optional()
        .describe('A part of any name, the organization, or an address, without regard to case.'),
      folderId: uuidInput.optional().describe('Only contacts of this folder.'),
      limit: pageLimit(500, 100),
      cursor: cursor.optional(),
    }),
    output: pageOf(contact),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/contacts',
    scope: 'write',
    module: 'contacts',
    accountToken: true,
    audit: 'contact.create',
    makes: 'contactId',
    summary: 'Create a contact.',
    description:
      'Written to the provider, then to the index. A contact needs a name, an organization, an email address or a ' +
      'phone number. What the provider cannot hold is refused with `provider_unsupported`.',
    refuses: [...CHANGING_REASONS, 'contacts_disabled', 'unknown_contact_folder', 'contact_unidentifiable'],
    params: accountPath,
    body: z.strictObject({
      folderId: uuidInput.optional().describe('Default: the provider’s default folder.'),
      ...contactFields,
    }),
    output: contact,
  }),

  get: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/contacts/{contactId}',
    scope: 'read',
    module: 'contacts',
    accountToken: true,
    summary: 'Get a contact.',
    refuses: [...READING_REASONS, 'contact_not_found'],
    params: contactPath,
    output: contact,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/contacts/{contactId}',
    scope: 'write',
    module: 'contacts',
    accountToken: true,
    audit: 'contact.update',
    summary: 'Change a contact.',
    description:
      'Fields that are present change, and null clears them. `emails` and `phones` replace the whole list; labels and ' +
      'other properties of what stays in it are kept at the provider, like everything that is not shown here.',
    refuses: [...CHANGING_REASONS, 'contacts_disabled', 'contact_not_found', 'contact_unidentifiable'],
    params: contactPath,
    body: z.strictObject(contactFields),
    output: contact,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/contacts/{contactId}',
    scope: 'write',
    module: 'contacts',
    accountToken: true,
    audit: 'contact.delete',
    summary: 'Delete a contact.',
    refuses: [...CHANGING_REASONS, 'contacts_disabled', 'contact_not_found'],
    params: contactPath,
    output: z.null(),
  }),

  photo: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/contacts/{contactId}/photo',
    scope: 'read',
    module: 'contacts',
    accountToken: true,
    summary: 'Download the photo of a contact.',
    description:
      'The bytes as the provider stores them, up to 5 MiB. They are fetched on the first request and kept until the ' +
      'photo changes. Content that is not a plain image, such as SVG, is `photo_not_found`.',
    refuses: [
      ...READING_REASONS,
      'contact_not_found',
      'photo_not_found',
      'account_paused',
      'account_disabled',
      'account_reauth_required',
      'account_misconfigured',
      'provider_not_found',
      'provider_forbidden',
      'provider_throttled',
      'provider_unavailable',
    ],
    params: contactPath,
    output: download,
    produces: 'image/*',
  }),
}

export const contactFolders = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/contact-folders',
    scope: 'read',
    module: 'contacts',
    accountToken: true,
    summary: 'List the contact folders of an account.',
    description:
      'Returns all folders in one answer, the default one first: address books, or folders of Microsoft. Empty for an ' +
      'account whose provider has none.',
    refuses: READING_REASONS,
    params: accountPath,
    output: collectionOf(contactFolder),
  }),
}
