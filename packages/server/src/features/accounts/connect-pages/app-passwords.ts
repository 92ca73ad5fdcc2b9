/** Advice about the password of a well-known provider. */
export interface PasswordHint {
  text: string
  /** Page at which the provider explains it, or makes such a password. */
  url: string | null
}

const HINTS: readonly { hosts: readonly string[]; hint: PasswordHint }[] = [
  {
    hosts: ['gmail.com', 'googlemail.com'],
    hint: {
      text: 'Google takes no ordinary password here. Turn on 2-step verification, create an app password and enter that.',
      url: 'https://myaccount.google.com/apppasswords',
    },
  },
  {
    hosts: ['mail.me.com'],
    hint: {
      text: 'Apple takes no ordinary password here. Create an app-specific password and enter that.',
      url: 'https://account.apple.com/',
    },
  },
  {
    hosts: ['yahoo.com'],
    hint: {
      text: 'Yahoo takes no ordinary password here. Create an app password under “Security” and enter that.',
      url: 'https://login.yahoo.com/account/security',
    },
  },
  {
    hosts: ['aol.com'],
    hint: {
      text: 'AOL takes no ordinary password here. Create an app password under “Security” and enter that.',
      url: 'https://login.aol.com/account/security',
    },
  },
  {
    hosts: ['fastmail.com'],
    hint: {
      text: 'Fastmail takes no ordinary password here. Create an app password with access to mail and enter that.',
      url: 'https://app.fastmail.com/settings/security',
    },
  },
  {
    hosts: ['zoho.com', 'zoho.eu', 'zoho.in'],
    hint: {
      text: 'With two-factor authentication, Zoho wants an app password here. IMAP must be turned on in the settings of Zoho Mail.',
      url: 'https://accounts.zoho.com/home#security/app_password',
    },
  },
  {
    hosts: ['yandex.com', 'yandex.ru'],
    hint: {
      text: 'Yandex takes no ordinary password here. Create an app password for mail and enter that.',
      url: 'https://id.yandex.com/security/app-passwords',
    },
  },
  {
    hosts: ['mail.ru'],
    hint: {
      text: 'Mail.ru takes no ordinary password here. Create a password for external applications and enter that.',
      url: 'https://account.mail.ru/user/2-step-auth/passwords/',
    },
  },
  {
    hosts: ['gmx.net', 'gmx.com', 'web.de'],
    hint: {
      text: 'Turn on access by IMAP in the settings of your mailbox first. With two-factor authentication, enter an app password.',
      url: null,
    },
  },
  {
    hosts: ['t-online.de'],
    hint: {
      text: 'Set a password for email programs in the Telekom customer centre and enter that.',
      url: null,
    },
  },
  {
    hosts: ['qq.com', '163.com', '126.com'],
    hint: {
      text: 'Turn on access by IMAP in the settings of your mailbox. Enter the authorization code that it shows.',
      url: null,
    },
  },
  {
    hosts: ['office365.com', 'outlook.com'],
    hint: {
      text: 'Microsoft no longer lets programs log in with a password to most of its mailboxes.',
      url: null,
    },
  },
]

/** The hint for the provider that runs an IMAP server, or null. */
export function findPasswordHint(imapHost: string): PasswordHint | null {
  const host = imapHost.trim().toLowerCase().replace(/\.$/, '')
  const isOf = (domain: string) => host === domain || host.endsWith(`.${domain}`)
  return HINTS.find(({ hosts }) => hosts.some(isOf))?.hint ?? null
}
