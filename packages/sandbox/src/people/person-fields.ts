import { type Shape, values } from '../google/api/shape.ts'

const SOURCE = { ...values('type id etag updateTime'), profileMetadata: values('objectType userTypes') }
const METADATA: Shape = { metadata: { ...values('primary sourcePrimary verified'), source: SOURCE } }
const DATE = values('year month day')
const item = (names: string, more: Shape = {}): Shape => ({ ...values(names), ...more, ...METADATA })

/** The fields of a contact that clients may write, as Google's discovery document names them. */
export const WRITABLE: Readonly<Record<string, Shape>> = {
  addresses: item(
    'city country countryCode extendedAddress formattedType formattedValue poBox postalCode region streetAddress type',
  ),
  biographies: item('contentType value'),
  birthdays: item('text', { date: DATE }),
  calendarUrls: item('formattedType type url'),
  clientData: item('key value'),
  emailAddresses: item('displayName formattedType type value'),
  events: item('formattedType type', { date: DATE }),
  externalIds: item('formattedType type value'),
  fileAses: item('value'),
  genders: item('addressMeAs formattedValue value'),
  imClients: item('formattedProtocol formattedType protocol type username'),
  interests: item('value'),
  locales: item('value'),
  locations: item('buildingId current deskCode floor floorSection type value'),
  memberships: {
    ...METADATA,
    contactGroupMembership: values('contactGroupId contactGroupResourceName'),
    domainMembership: values('inViewerDomain'),
  },
  miscKeywords: item('formattedType type value'),
  names: item(
    'displayName displayNameLastFirst familyName givenName honorificPrefix honorificSuffix middleName phoneticFamilyName phoneticFullName phoneticGivenName phoneticHonorificPrefix phoneticHonorificSuffix phoneticMiddleName unstructuredName',
  ),
  nicknames: item('type value'),
  occupations: item('value'),
  organizations: item(
    'costCenter current department domain formattedType fullTimeEquivalentMillipercent jobDescription location name phoneticName symbol title type',
    { startDate: DATE, endDate: DATE },
  ),
  phoneNumbers: item('canonicalForm formattedType type value'),
  relations: item('formattedType person type'),
  sipAddresses: item('formattedType type value'),
  urls: item('formattedType type value'),
  userDefined: item('key value'),
}

/** Fields of which a contact has one at most. */
export const SINGLETONS = ['biographies', 'birthdays', 'genders', 'names'] as const

const READ_ONLY: Readonly<Record<string, Shape>> = {
  ageRanges: item('ageRange'),
  coverPhotos: item('default url'),
  photos: item('default url'),
  skills: item('value'),
}

/** Names that a mask of fields to read may have. */
export const READABLE: ReadonlySet<string> = new Set([
  ...Object.keys(WRITABLE),
  ...Object.keys(READ_ONLY),
  'metadata',
])

export const PERSON: Shape = {
  ...values('resourceName etag'),
  ...WRITABLE,
  ...READ_ONLY,
  metadata: {
    ...values('deleted linkedPeopleResourceNames objectType previousResourceNames'),
    sources: SOURCE,
  },
}

export const SHAPES = {
  person: PERSON,
  connections: { ...values('nextPageToken nextSyncToken totalItems totalPeople'), connections: PERSON },
  people: {
    responses: {
      ...values('httpStatusCode requestedResourceName'),
      person: PERSON,
      status: values('code message details'),
    },
  },
  nothing: {},
} as const satisfies Record<string, Shape>
