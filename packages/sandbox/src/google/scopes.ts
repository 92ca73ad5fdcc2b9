export const EMAIL_SCOPE = 'https://www.googleapis.com/auth/userinfo.email'
export const PROFILE_SCOPE = 'https://www.googleapis.com/auth/userinfo.profile'

/** Scopes of sign-in, which the consent page does not offer to untick. */
export const SIGN_IN_SCOPES: readonly string[] = ['openid', EMAIL_SCOPE, PROFILE_SCOPE]

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  email: ['openid', EMAIL_SCOPE],
  profile: ['openid', PROFILE_SCOPE],
}

/** Every other scope that a client may ask for, with the words of the consent page. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'https://mail.google.com/': 'Read, compose, send, and permanently delete all your email from Gmail',
  'https://www.googleapis.com/auth/gmail.modify': 'Read, compose, and send emails from your Gmail account',
  'https://www.googleapis.com/auth/gmail.readonly': 'View your email messages and settings',
  'https://www.googleapis.com/auth/gmail.compose': 'Manage drafts and send emails',
  'https://www.googleapis.com/auth/gmail.send': 'Send email on your behalf',
  'https://www.googleapis.com/auth/gmail.insert': 'Add emails into your Gmail mailbox',
  'https://www.googleapis.com/auth/gmail.labels': 'See and edit your email labels',
  'https://www.googleapis.com/auth/gmail.metadata':
    'View your email message metadata such as labels and headers, but not the email body',
  'https://www.googleapis.com/auth/gmail.settings.basic':
    'See, edit, create, or change your email settings and filters in Gmail',
  'https://www.googleapis.com/auth/gmail.settings.sharing':
    'Manage your sensitive mail settings, including who can manage your mail',
  'https://www.googleapis.com/auth/calendar':
    'See, edit, share, and permanently delete all the calendars you can access using Google Calendar',
  'https://www.googleapis.com/auth/calendar.readonly':
    'See and download any calendar you can access using your Google Calendar',
  'https://www.googleapis.com/auth/calendar.events': 'View and edit events on all your calendars',
  'https://www.googleapis.com/auth/calendar.events.readonly': 'View events on all your calendars',
  'https://www.googleapis.com/auth/calendar.calendarlist':
    'See, add, and remove Google calendars you’re subscribed to',
  'https://www.googleapis.com/auth/calendar.calendarlist.readonly':
    'See the list of Google calendars you’re subscribed to',
  'https://www.googleapis.com/auth/calendar.freebusy': 'View your availability in your calendars',
  'https://www.googleapis.com/auth/calendar.settings.readonly': 'View your Calendar settings',
  'https://www.googleapis.com/auth/contacts': 'See, edit, download, and permanently delete your contacts',
  'https://www.googleapis.com/auth/contacts.readonly': 'See and download your contacts',
  'https://www.googleapis.com/auth/contacts.other.readonly':
    'See and download contact info automatically saved in your "Other contacts"',
  'https://www.googleapis.com/auth/admin.directory.user.readonly': 'See info about users on your domain',
  'https://www.googleapis.com/auth/pubsub': 'View and manage Pub/Sub topics and subscriptions',
}

/** Splits a `scope` parameter, with `email` and `profile` spelt out. Unknown scopes are kept. */
export function parseScopes(text: string): string[] {
  const scopes = text.split(/\s+/).filter(scope => scope !== '')
  return [...new Set(scopes.flatMap(scope => ALIASES[scope] ?? [scope]))]
}

export function isKnownScope(scope: string): boolean {
  return SIGN_IN_SCOPES.includes(scope) || Object.hasOwn(DESCRIPTIONS, scope)
}

export function describeScope(scope: string): string {
  return DESCRIPTIONS[scope] ?? scope
}

/** Whether a password change ends grants with this scope. */
export function isMailScope(scope: string): boolean {
  return scope === 'https://mail.google.com/' || scope.startsWith('https://www.googleapis.com/auth/gmail.')
}
