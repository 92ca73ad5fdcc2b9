const GOOGLE = 'https://www.googleapis.com/auth/'
/** The hosts that scopes of Microsoft's clouds have. */
const MICROSOFT = /^https:\/\/[a-z-]*graph\.[a-z.]+\/|^https:\/\/microsoftgraph\.[a-z.]+\//

interface Permission {
  scopes: readonly string[]
  /** As a person reads it after "will be able to". */
  words: string
  /** The abilities that it grants. A later permission that grants no more is not listed. */
  allows: readonly string[]
}

const PERMISSIONS: readonly Permission[] = [
  {
    scopes: ['https://mail.google.com/'],
    words: 'read, change, send and permanently delete your email',
    allows: ['read', 'send'],
  },
  {
    scopes: [`${GOOGLE}gmail.modify`, 'Mail.ReadWrite'],
    words: 'read, change and send your email',
    allows: ['read', 'send'],
  },
  { scopes: [`${GOOGLE}gmail.readonly`, 'Mail.Read'], words: 'read your email', allows: ['read'] },
  { scopes: [`${GOOGLE}gmail.send`, 'Mail.Send'], words: 'send email as you', allows: ['send'] },
  {
    scopes: [`${GOOGLE}gmail.settings.basic`],
    words: 'see and change your mail settings, such as signatures and the addresses you send from',
    allows: ['settings'],
  },
  {
    scopes: [`${GOOGLE}calendar`, 'Calendars.ReadWrite'],
    words: 'see and change your calendars',
    allows: ['calendar'],
  },
  {
    scopes: ['MailboxSettings.Read'],
    words: 'see your mailbox settings, such as your time zone',
    allows: ['mailbox'],
  },
  { scopes: [`${GOOGLE}calendar.readonly`], words: 'see your calendars', allows: ['calendar'] },
  {
    scopes: [`${GOOGLE}contacts`, 'Contacts.ReadWrite'],
    words: 'see and change your contacts',
    allows: ['contacts'],
  },
  { scopes: [`${GOOGLE}contacts.readonly`], words: 'see your contacts', allows: ['contacts'] },
  {
    scopes: [
      'openid',
      'email',
      'profile',
      `${GOOGLE}userinfo.email`,
      `${GOOGLE}userinfo.profile`,
      'User.Read',
    ],
    words: 'see your name and email address',
    allows: ['person'],
  },
  {
    scopes: ['Mail.ReadWrite.Shared', 'Mail.Send.Shared'],
    words: 'read, change and send email of mailboxes that others share with you',
    allows: ['shared'],
  },
  {
    scopes: ['Calendars.ReadWrite.Shared'],
    words: 'see and change calendars that others share with you',
    allows: ['sharedCalendars'],
  },
  {
    scopes: ['Contacts.ReadWrite.Shared'],
    words: 'see and change contacts that others share with you',
    allows: ['sharedContacts'],
  },
  // It lets the service keep the grant, which a person expects anyway.
  { scopes: ['offline_access'], words: '', allows: [] },
]

/** The permissions that a provider is asked for, in words. A scope without words is listed by its own name. */
export function scopesInWords(asked: readonly string[]): string[] {
  const scopes = asked.map(scope => scope.replace(MICROSOFT, ''))
  const listed = new Set<string>()
  const known = PERMISSIONS.filter(({ scopes: ofWords, allows }) => {
    const isNews = ofWords.some(scope => scopes.includes(scope)) && allows.some(one => !listed.has(one))
    if (isNews) for (const one of allows) listed.add(one)
    return isNews
  })
  const unknown = scopes.filter(scope => !PERMISSIONS.some(one => one.scopes.includes(scope)))
  return [...known.map(({ words }) => words), ...unknown]
}
