/** The hosts of Google's sign-in and APIs. The sandbox plays the same ones. */
export const HOSTS = {
  pages: 'accounts.google.com',
  tokens: 'oauth2.googleapis.com',
  certificates: 'www.googleapis.com',
  calendar: 'www.googleapis.com',
  user: 'openidconnect.googleapis.com',
  mail: 'gmail.googleapis.com',
  people: 'people.googleapis.com',
  photos: 'lh3.googleusercontent.com',
} as const
