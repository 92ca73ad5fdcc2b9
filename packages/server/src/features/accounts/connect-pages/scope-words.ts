const GOOGLE = 'https://www.googleapis.com/auth/'

interface Permission {
  scopes: readonly string[]
  /** As a person reads it after "will be able to". */
  words: string
  /** What it allows. A later permission that allows no more is not told. */
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
  { scopes: [`${GOOGLE}gmail.readonly`], words: 'read your email', allows: ['read'] },
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
  // It lets the service keep what was granted, which a person takes for granted.
  { scopes: ['offline_access'], words: '', allows: [] },
]

/** What a provider is asked for, in words. A scope that has none is told by its own name. */
export function scopesInWords(scopes: readonly string[]): string[] {
  const told = new Set<string>()
  const known = PERMISSIONS.filter(({ scopes: ofWords, allows }) => {
    const isNews = ofWords.some(scope => scopes.includes(scope)) && allows.some(one => !told.has(one))
    if (isNews) for (const one of allows) told.add(one)
    return isNews
  })
  const unknown = scopes.filter(scope => !PERMISSIONS.some(one => one.scopes.includes(scope)))
  return [...known.map(({ words }) => words), ...unknown]
}
