import { z } from 'zod'
import { operation } from '../operation.ts'
import {
  collectionOf,
  microsoftCloud,
  oauthProvider,
  pathId,
  singleLine,
  text,
  timestamp,
  uuid,
} from '../shapes.ts'

/** The name of a thing in Google Cloud, such as `projects/mail-sync/topics/gmail`. */
const cloudResource = (kind: 'topics' | 'subscriptions') =>
  singleLine({ max: 512 }).regex(
    new RegExp(`^projects/[a-z0-9:.-]{1,100}/${kind}/[A-Za-z][\\w.~+%-]{2,254}$`),
    `must look like projects/my-project/${kind}/gmail`,
  )

export const gmailPush = z
  .strictObject({
    topic: cloudResource('topics').describe('The Pub/Sub topic that Gmail publishes changes to.'),
    subscription: cloudResource('subscriptions').describe(
      'The push subscription of the topic. Only its pushes to `/push/gmail` are believed.',
    ),
    serviceAccount: z
      .email('must be the address of a service account')
      .max(320)
      .toLowerCase()
      .describe('The service account by which Google signs the pushes.'),
  })
  .meta({ id: 'GmailPush' })
export type GmailPush = z.infer<typeof gmailPush>

export const oauthApp = z
  .object({
    id: uuid,
    provider: oauthProvider,
    name: z.string(),
    clientId: z.string(),
    cloud: microsoftCloud.nullable().describe('Microsoft apps only.'),
    redirectUri: z.string().describe('Register it with the app at the provider. It is always the same.'),
    scopes: z
      .array(z.string())
      .nullable()
      .describe('Scopes that users are asked for, for mail, calendars and contacts; null: the defaults.'),
    credentialType: z.enum(['secret', 'certificate']),
    gmailPush: gmailPush.nullable().describe('Google apps only. Null: mailboxes are polled.'),
    accounts: z.int().describe('Accounts that signed in with the app and are not deleted.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'OAuthApp' })
export type OAuthApp = z.infer<typeof oauthApp>

const name = singleLine({ min: 1, max: 100 })
const clientId = singleLine({ min: 1, max: 255 })
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .describe('As the provider shows it.')
const clientSecret = singleLine({ min: 1, max: 1024 }).describe('It is never shown again.')
const pem = text({ min: 1, max: 20_000 })
const certificate = pem.describe('Microsoft only: in PEM, in place of a client secret.')
const privateKey = pem.describe(
  'Microsoft only: the key of the certificate, in PEM. It is never shown again.',
)
const scopes = z
  .array(singleLine({ min: 1, max: 255 }).regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope'))
  .min(1)
  .max(50)
  .nullable()
  .describe(
    'Replaces the default scopes for mail, calendars and contacts. At least one must read mail. Null: the defaults.',
  )

const appPath = z.strictObject({ appId: pathId.describe('The app’s `id`.') })

export const oauthApps = {
  list: operation({
    method: 'GET',
    path: '/v1/oauth-apps',
    scope: 'admin',
    summary: 'List the tenant’s OAuth apps, newest first.',
    description: 'A tenant has at most 100. The apps of the operator are not listed.',
    output: collectionOf(oauthApp),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/oauth-apps',
    scope: 'admin',
    audit: 'oauth_app.create',
    makes: 'appId',
    summary: 'Add an OAuth app that users sign in with.',
    description:
      'Nothing is tried: a wrong secret shows at the first sign-in. An app of Microsoft belongs to one cloud, by ' +
      'default the global one, and proves itself by a secret or by a certificate with its private key.',
    refuses: [
      'credential_conflict',
      'credential_mismatch',
      'credential_missing',
      'gmail_push_unsupported',
      'invalid_certificate',
      'not_microsoft',
      'push_unavailable',
    ],
    body: z.strictObject({
      provider: oauthProvider,
      name,
      clientId,
      clientSecret: clientSecret.optional(),
      certificate: certificate.optional(),
      privateKey: privateKey.optional(),
      cloud: microsoftCloud.optional(),
      scopes: scopes.optional(),
      gmailPush: gmailPush.nullish(),
    }),
    output: oauthApp,
  }),

  get: operation({
    method: 'GET',
    path: '/v1/oauth-apps/{appId}',
    scope: 'admin',
    summary: 'Read an OAuth app.',
    refuses: ['oauth_app_not_found'],
    params: appPath,
    output: oauthApp,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/oauth-apps/{appId}',
    scope: 'admin',
    audit: 'oauth_app.update',
    summary: 'Change an OAuth app.',
    description:
      'Only the fields that are present change; a certificate and its key are given together. A new secret or ' +
      'certificate takes effect at once, and accounts that could not be reached for want of a valid one are tried ' +
      'again. New `scopes` count from the next sign-in of each user. ' +
      '`gmailPush: null` ends pushes.',
    refuses: [
      'credential_conflict',
      'credential_mismatch',
      'credential_missing',
      'gmail_push_unsupported',
      'invalid_certificate',
      'not_microsoft',
      'oauth_app_not_found',
      'push_unavailable',
    ],
    params: appPath,
    body: z.strictObject({
      name: name.optional(),
      clientSecret: clientSecret.optional(),
      certificate: certificate.optional(),
      privateKey: privateKey.optional(),
      scopes: scopes.optional(),
      gmailPush: gmailPush.nullish(),
    }),
    output: oauthApp,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/oauth-apps/{appId}',
    scope: 'admin',
    audit: 'oauth_app.delete',
    summary: 'Delete an OAuth app.',
    description: 'An app that accounts signed in with is refused with `oauth_app_in_use`: delete them first.',
    refuses: ['oauth_app_in_use', 'oauth_app_not_found'],
    params: appPath,
    output: z.null(),
  }),
}
