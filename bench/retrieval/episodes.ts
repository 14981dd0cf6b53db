// What the generated conversations talk about: kinds of episodes, each in several wordings. `{x}` is the
// thing an episode is about, `{v}` what is to be found again, `{w}` a second detail.

export type Subject = "project" | "place" | "person";

export interface EpisodeKind {
  readonly about: Subject;
  readonly openers: readonly string[];
  /** What is said on the way, by the user and the assistant. */
  readonly talk: readonly (readonly [user: string, assistant: string])[];
  readonly asks: readonly string[];
  readonly answers: readonly string[];
  /** Asked long after; worded unlike the answer. */
  readonly questions: readonly string[];
  /** The same as an agent would type key words. */
  readonly keywords: string;
  readonly values: readonly string[];
  readonly details: readonly string[];
}

export const EPISODES: readonly EpisodeKind[] = [
  {
    about: "project",
    openers: [
      "The {x} deployment fell over again this morning.",
      "{x} went down twice overnight and I want to understand it.",
      "Can you look at the outage we had on {x}?",
    ],
    talk: [
      [
        "The crash of {x} began around three at night, users noticed at six.",
        "The graphs of {x} show restarts every few minutes since the failure began.",
      ],
      [
        "Support got forty tickets about the failure.",
        "I am reading the crash dumps and the error log now.",
      ],
      [
        "I want the root cause, not another workaround.",
        "A restart hides the failure, so I keep looking for the cause.",
      ],
    ],
    asks: ["What do you see in the traces?", "Did the logs show anything?", "So what caused it?"],
    answers: [
      "It was {v}; after {w} it stayed up.",
      "Found it: {v}. I fixed that with {w}.",
      "Turns out {v}, and {w} made the errors stop.",
    ],
    questions: [
      "Why did {x} crash back then?",
      "What was the root cause of the {x} outage?",
      "What made the {x} deployment fail overnight?",
    ],
    keywords: "{x} outage cause",
    values: [
      "an expired certificate on the proxy",
      "a leaking socket pool",
      "a disk filled by debug dumps",
      "a clock that drifted by nine minutes",
      "a half-applied schema change",
      "two workers fighting over one lock file",
    ],
    details: [
      "a rollback",
      "a nightly restart",
      "raising the limit",
      "pinning the older image",
      "a manual cleanup",
    ],
  },
  {
    about: "project",
    openers: [
      "We need to settle who runs {x} from now on.",
      "About {x}: it has had no owner since the reorganization.",
      "Somebody must take over {x} before the holidays.",
    ],
    talk: [
      [
        "Since the reorganization nobody answers questions about {x}.",
        "Whoever owns it should be on the mailing list of {x} too.",
      ],
      [
        "The last owner left in March.",
        "A responsible person also has to join the weekly meeting.",
      ],
      [
        "It can not stay without an owner.",
        "I can draft the message that announces who is responsible for {x}.",
      ],
    ],
    asks: ["Who do you have in mind?", "Any volunteers so far?", "Whom should I put down?"],
    answers: [
      "{v} agreed, with {w} as backup.",
      "I spoke to {v} at lunch and it is a yes; {w} will help out.",
      "Put down {v}. {w} covers vacations.",
    ],
    questions: [
      "Who is responsible for {x} now?",
      "Which person took ownership of {x}?",
      "Who owns {x} since the reorganization?",
    ],
    keywords: "{x} owner",
    values: ["Ingrid", "Tobias", "Priya", "Mateo", "Yuki", "Olena", "Farid", "Chiara"],
    details: ["Sven", "Amina", "Lucas", "Hanna", "Dmitri", "Noor"],
  },
  {
    about: "place",
    openers: [
      "I am planning the trip to {x} for the family.",
      "Our holiday in {x} needs a place to sleep.",
      "Help me compare hotels for {x}.",
    ],
    talk: [
      [
        "We fly on Saturday, five nights, two adults and a child.",
        "For {x} I found hotels near the center and a few holiday apartments.",
      ],
      [
        "The hotel should have a kitchen.",
        "Two accommodations have a kitchen; one is a longer walk from the station.",
      ],
      [
        "I would like to book the trip today.",
        "Staying outside the center makes the trip to {x} cheaper by a third.",
      ],
    ],
    asks: [
      "Which one do you prefer?",
      "Have you made up your mind?",
      "Shall I book the cheaper one?",
    ],
    answers: [
      "We take {v}, because {w}.",
      "Let us go with {v}. My wife insists on it: {w}.",
      "{v} it is; {w} settled it.",
    ],
    questions: [
      "Where are we staying during the {x} holiday?",
      "Which accommodation did I choose for {x}?",
      "What did I book for the trip to {x}?",
    ],
    keywords: "{x} trip hotel",
    values: [
      "the guesthouse by the harbor",
      "the pink villa with a terrace",
      "the apartment above the bakery",
      "the old mill",
      "the campsite behind the dunes",
    ],
    details: [
      "the kids can walk to the beach",
      "it has parking",
      "breakfast is included",
      "the reviews praise the owner",
    ],
  },
  {
    about: "project",
    openers: [
      "Where does {x} keep its settings these days?",
      "The {x} service needs a free port on the staging box.",
      "I have to open the firewall for {x}.",
    ],
    talk: [
      [
        "The staging box is full of old services.",
        "The firewall of the staging box lists eleven open ports.",
      ],
      [
        "{x} has to be reachable from the test network.",
        "Then the service of {x} must listen on an address that the test network sees.",
      ],
      [
        "The port must differ from production.",
        "I will assign a port that production does not know.",
      ],
    ],
    asks: ["Which number should I use?", "What shall I enter there?", "Is anything already taken?"],
    answers: [
      "Use {v}, nothing else listens there, and remember {w}.",
      "It is {v}. Do not forget {w}.",
      "{v} is free; afterwards comes {w}.",
    ],
    questions: [
      "What port does the {x} service listen on in staging?",
      "Which port did we assign to {x}?",
      "What firewall port was opened for {x}?",
    ],
    keywords: "{x} staging port",
    values: ["8443", "9091", "7070", "15432", "6380", "27018"],
    details: [
      "the health check",
      "the reverse proxy entry",
      "a note in the runbook",
      "the alert rule",
    ],
  },
  {
    about: "project",
    openers: [
      "How much may we spend on {x} this year?",
      "Finance asks about the budget for {x}.",
      "I am filling in the cost plan and {x} is missing.",
    ],
    talk: [
      [
        "Last year {x} cost more than planned.",
        "Money for {x} comes from two cost centers, according to the sheet.",
      ],
      ["The budget meeting was this morning.", "Then finance should have an amount by now."],
      ["I had asked for a bit more.", "The budget of comparable projects grew by a tenth."],
    ],
    asks: ["What was approved?", "Do you have a figure?", "And the number?"],
    answers: ["They granted {v}, {w}.", "{v} in total, {w}.", "We got {v} after all; {w}."],
    questions: [
      "What is the approved budget for {x}?",
      "How much money can be spent on {x}?",
      "Which amount did finance give us for {x}?",
    ],
    keywords: "{x} budget amount",
    values: [
      "18,500 euros",
      "forty thousand",
      "7,200 dollars",
      "a quarter million",
      "95k",
      "12,000 pounds",
    ],
    details: [
      "hardware not included",
      "split over two quarters",
      "to be reviewed in autumn",
      "travel comes on top",
    ],
  },
  {
    about: "person",
    openers: [
      "I need a birthday present for {x}.",
      "{x} turns forty soon and I have no gift.",
      "Give me ideas what to buy for {x}.",
    ],
    talk: [
      [
        "The birthday is on a Sunday.",
        "A gift for {x} could be an experience or something for the home.",
      ],
      ["Nothing too expensive.", "I list presents below sixty: books, tools, classes, tickets."],
      ["{x} already has everything.", "Then a present that is used up may be the better gift."],
    ],
    asks: [
      "Does one of these appeal to you?",
      "What would make a nice surprise?",
      "Which idea wins?",
    ],
    answers: [
      "I ordered {v}, {w}.",
      "Good hint, so it became {v}; {w}.",
      "{v} then. {w}, luckily.",
    ],
    questions: [
      "What gift did I get for {x}?",
      "Which birthday present was chosen for {x}?",
      "What did I buy for the birthday of {x}?",
    ],
    keywords: "{x} birthday present",
    values: [
      "a pottery class",
      "the blue telescope",
      "a signed first edition",
      "a pasta machine",
      "two opera tickets",
      "a hand-made kite",
    ],
    details: [
      "it arrives on Friday",
      "the shop wraps it",
      "my sister pays half",
      "with free shipping",
    ],
  },
  {
    about: "project",
    openers: [
      "We should choose a library for {x}.",
      "Let us compare options for the {x} rewrite.",
      "The {x} module needs a different framework.",
    ],
    talk: [
      [
        "The rewrite of {x} starts in two weeks.",
        "I compared three libraries for {x} by size, speed and upkeep.",
      ],
      [
        "The old framework is no longer maintained.",
        "Each framework needs a migration of the templates.",
      ],
      [
        "It must work with the modules we have.",
        "One library has adapters for the modules of {x}.",
      ],
    ],
    asks: [
      "Which way are you leaning?",
      "Do we have a winner?",
      "What speaks against the first one?",
    ],
    answers: ["Let us adopt {v}: {w}.", "I would pick {v}. {w}.", "{v} convinced me, since {w}."],
    questions: [
      "Which framework did we select for the {x} rewrite?",
      "What library was chosen for {x}?",
      "What technology does the {x} module use after the comparison?",
    ],
    keywords: "{x} library choice",
    values: ["Axum", "Svelte", "Polars", "DuckDB", "Zig", "Elixir", "Temporal", "NATS"],
    details: [
      "the maintainers answer quickly",
      "it halves the memory",
      "the team knows it already",
      "the license fits",
    ],
  },
  {
    about: "person",
    openers: [
      "My knee hurts, and {x} wants to see me again.",
      "I have to arrange an appointment with {x}.",
      "{x} asked me to come in for the results.",
    ],
    talk: [
      [
        "It is about the results from last week.",
        "The office of {x} takes calls until noon; appointments are made there.",
      ],
      ["I can not come before work.", "Then I ask for a slot later in the day."],
      [
        "The last appointment was canceled.",
        "I can put the appointment with {x} into the calendar once it is arranged.",
      ],
    ],
    asks: ["When would suit you?", "Did they offer a slot?", "Morning or afternoon?"],
    answers: ["They had {v} free, {w}.", "It will be {v}; {w}.", "{v}, and {w}."],
    questions: [
      "When is my appointment with {x}?",
      "At what time do I see {x}?",
      "Which slot did I arrange with {x}?",
    ],
    keywords: "{x} appointment time",
    values: [
      "Thursday at half past nine",
      "the 14th at noon",
      "Monday 8:15",
      "the last Friday of the month",
      "Wednesday around four",
    ],
    details: [
      "I should bring the scans",
      "on an empty stomach",
      "second floor this time",
      "my neighbor drives me",
    ],
  },
  {
    about: "project",
    openers: [
      "I misplaced the spare key of {x}.",
      "Remind me later about the documents for {x}, I am putting them away.",
      "I am tidying up and found the papers of {x}.",
    ],
    talk: [
      [
        "Last time I searched for two hours.",
        "I can store a note that says where the documents of {x} are.",
      ],
      [
        "There is also a spare key with the papers.",
        "Key and papers in one place are easier to find.",
      ],
      ["Nobody else knows the place.", "Shall the note about {x} mention the key too?"],
    ],
    asks: ["Where will they live?", "And where do you keep it?", "So which spot is it?"],
    answers: ["In {v}, {w}.", "They go into {v}; {w}.", "Behind everything else in {v}, {w}."],
    questions: [
      "Where are the documents for {x}?",
      "In which place did I store the papers of {x}?",
      "Where can I find the spare key of {x}?",
    ],
    keywords: "{x} papers location",
    values: [
      "the green tin",
      "the second drawer of the sideboard",
      "the attic trunk",
      "a shoe box under the stairs",
      "the safe at my brother's",
    ],
    details: ["left side", "wrapped in foil", "under the maps", "next to the candles"],
  },
  {
    about: "project",
    openers: [
      "The client of {x} wants a delivery date.",
      "When can we ship {x}?",
      "Planning round for {x}, we owe them a deadline.",
    ],
    talk: [
      [
        "The client called again about {x}.",
        "The open tasks of {x} sum up to about thirty days of work.",
      ],
      [
        "They want a date in writing.",
        "A deadline in the contract can not be moved without a fee.",
      ],
      [
        "We promised them something in spring already.",
        "The release that was promised slipped because of the audit.",
      ],
    ],
    asks: ["What can we promise?", "Is that realistic?", "Which day do I write down?"],
    answers: ["Tell them {v}, {w}.", "{v} is doable, {w}.", "I would say {v}; {w}."],
    questions: [
      "What deadline did we promise for {x}?",
      "By when must {x} be delivered to the client?",
      "Which release date was agreed for {x}?",
    ],
    keywords: "{x} deadline",
    values: [
      "the end of May",
      "June 3rd",
      "two weeks after Easter",
      "the first Tuesday in October",
      "mid November",
    ],
    details: [
      "without the export feature",
      "if testing goes well",
      "with a week of slack",
      "not a day earlier",
    ],
  },
];

/** Made-up names; each conversation draws its own. */
export const THINGS: Readonly<Record<Subject, readonly string[]>> = {
  project: [
    "Heron",
    "Bluefin",
    "Kestrel",
    "Marigold",
    "Obsidian",
    "Tundra",
    "Paprika",
    "Saffron",
    "Juniper",
    "Cobalt",
    "Meridian",
    "Lantern",
    "Quicksilver",
    "Nimbus",
    "Driftwood",
    "Windmill",
    "Harbinger",
    "Sundial",
    "billing gateway",
    "photo importer",
    "search indexer",
    "login screen",
    "invoice mailer",
    "report builder",
    "payment-worker",
    "auth_proxy",
    "MapTileServer",
    "CsvExporter",
    "sync_daemon",
  ],
  place: ["Ljubljana", "Porto", "Galway", "Tromso", "Kyoto", "Valparaiso", "Essaouira", "Bergamo"],
  person: [
    "Aunt Rosa",
    "Dr. Lindqvist",
    "Grandpa Emil",
    "Doctor Okafor",
    "cousin Mira",
    "Mrs. Baptiste",
  ],
};

/** Talk that names a thing and tells nothing about it. */
export const MENTIONS: readonly (readonly [user: string, assistant: string])[] = [
  ["Any news about {x}?", "Nothing since last time."],
  ["I dreamt of {x} last night.", "That sounds like a long week."],
  ["Put {x} on the list for Monday.", "It is on the list, between the invoices and the gym."],
  ["I am so tired of {x} already.", "A walk might help before you go on."],
  ["Is there a picture of {x} somewhere in the folder?", "I found two, both from spring."],
  ["My sister asked how it goes with {x}.", "You could tell her that it moves along."],
];

export const CHATTER: readonly (readonly [user: string, assistant: string])[] = [
  ["Good morning!", "Good morning! What shall we look at today?"],
  ["One moment, phone.", "Take your time."],
  [
    "Can you summarize the article I pasted yesterday?",
    "It argues that small teams ship faster because they wait less for each other.",
  ],
  [
    "How is the weather where the server stands?",
    "I can not see outside, but the data center reports 21 degrees inside.",
  ],
  ["Please rename the file to notes-final.md", "Done, the file is now called notes-final.md."],
  ["Translate 'see you soon' into Portuguese", "Até breve."],
  ["What is 17 percent of 2300?", "391."],
  ["Run the tests again", "All 214 tests pass; the slowest took 3 seconds."],
  ["Thanks, that helps.", "Glad to hear it."],
  ["Do you remember what we talked about?", "Mostly the plans for the week, and a few errands."],
  [
    "Show me the last three commits",
    "fix typo in readme; bump the cache size; drop the unused helper",
  ],
  [
    "Write a polite reply to the landlord",
    "Dear Mr. Novak, thank you for your message. Friday afternoon works well for us.",
  ],
  ["Is the build green?", "Yes, since ten minutes ago."],
  ["I will be away next week.", "Noted. I will hold the reminders until you are back."],
  [
    "Which book should I read next?",
    "You liked quiet novels lately, so perhaps something by Jansson.",
  ],
];

export const ASIDES: readonly (readonly [user: string, assistant: string])[] = [
  ["By the way, it is urgent.", "Understood, I treat it first."],
  ["Let me think about that for a second.", "Of course."],
  ["My colleague disagrees, as always.", "What is the objection?"],
  ["We had the same discussion last year.", "Then it may be worth writing the outcome down."],
  ["I would rather not rush this.", "There is no hurry from my side."],
  ["Keep it short please.", "I will."],
];
